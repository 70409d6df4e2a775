"""The worker of sinks: batches, bounds, deadlines, and counts that add up whatever the work does."""

from __future__ import annotations

import gc
import multiprocessing
import subprocess
import sys
import threading
import weakref

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentfp.plugin import BackgroundWorker, WorkerStats
from agentfp_core import background

PATIENCE = 30.0


class Desk:
    """Takes batches, one at a time when it is told to."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.dropped: list[int] = []
        self.begun = threading.Semaphore(0)
        self.go_on = threading.Event()
        self.go_on.set()

    def work(self, items: list[int], dropped: int) -> int | None:
        self.begun.release()
        assert self.go_on.wait(PATIENCE)
        self.batches.append(items)
        self.dropped.append(dropped)
        return None

    @property
    def items(self) -> list[int]:
        return [item for batch in self.batches for item in batch]


def test_items_are_delivered_in_order_and_in_batches_of_no_more_than_was_said() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", batch=10)
    for item in range(105):
        worker.put(item)
    desk.go_on.set()
    assert worker.close(PATIENCE)
    assert desk.items == list(range(105))
    assert max(map(len, desk.batches)) <= 10
    assert worker.stats == WorkerStats(105, 105, 0, 0, 0, worker.stats.high_water)


def test_a_batch_waits_for_others_until_it_is_full_or_somebody_flushes() -> None:
    desk = Desk()
    worker = BackgroundWorker(desk.work, "test", batch=3, seconds=3600)
    worker.put(1)
    assert worker.flush(PATIENCE)
    assert desk.batches == [[1]]
    for item in (2, 3, 4):
        worker.put(item)
    assert desk.begun.acquire(timeout=PATIENCE)
    assert desk.begun.acquire(timeout=PATIENCE)
    assert worker.close(PATIENCE)
    assert desk.batches == [[1], [2, 3, 4]]


def test_beyond_the_bound_the_oldest_is_dropped_and_the_next_batch_is_told() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", capacity=5)
    worker.put(0)
    assert desk.begun.acquire(timeout=PATIENCE)
    for item in range(1, 21):
        worker.put(item)
    assert worker.stats == WorkerStats(21, 0, 0, 15, 6, 5)
    desk.go_on.set()
    assert worker.flush(PATIENCE)
    worker.put(21)
    assert worker.close(PATIENCE)
    assert desk.items == [0, 16, 17, 18, 19, 20, 21]
    assert desk.dropped == [0, 15, 0]
    assert worker.stats == WorkerStats(22, 7, 0, 15, 0, 5)


def test_what_was_dropped_is_told_again_when_the_batch_that_was_told_failed() -> None:
    told = []
    first = threading.Event()
    begun = threading.Event()

    def work(items: list[int], dropped: int) -> None:
        begun.set()
        assert first.wait(PATIENCE)
        told.append(dropped)
        if len(told) == 2:
            raise OSError

    worker = BackgroundWorker(work, "test", capacity=1, batch=1)
    worker.put(0)
    assert begun.wait(PATIENCE)
    worker.put(1)
    worker.put(2)
    first.set()
    assert worker.flush(PATIENCE)
    worker.put(3)
    assert worker.close(PATIENCE)
    assert told == [0, 1, 1]


def test_a_batch_of_which_the_work_raises_is_lost_and_the_next_one_is_not(caplog: pytest.LogCaptureFixture) -> None:
    errors = []

    def work(items: list[int], dropped: int) -> int | None:
        if items == [1]:
            raise OSError("secret words")
        return 1 if items == [2] else None

    worker = BackgroundWorker(work, "test", batch=1, on_error=lambda error, count: errors.append((type(error), count)))
    for item in (1, 2, 3):
        worker.put(item)
    assert worker.close(PATIENCE)
    assert worker.stats == WorkerStats(3, 1, 2, 0, 0, worker.stats.high_water, "OSError")
    assert errors == [(OSError, 1)]
    assert "lost 1 items: OSError" in caplog.text
    assert "secret words" not in caplog.text


def test_failures_are_logged_ever_more_rarely_and_a_callback_that_raises_harms_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def work(items: list[int], dropped: int) -> None:
        raise OSError

    def broken(error: Exception, count: int) -> None:
        raise RuntimeError("secret words")

    worker = BackgroundWorker(work, "test", batch=1, on_error=broken)
    for item in range(9):
        worker.put(item)
        assert worker.flush(PATIENCE)
    assert worker.close(PATIENCE)
    assert worker.stats.failed == 9
    assert [r.message for r in caplog.records if "lost" in r.message] == [
        f"test lost 1 items: OSError (failure {number})" for number in (1, 2, 4, 8)
    ]
    assert "secret words" not in caplog.text


def test_flush_waits_for_what_waits_now_and_not_for_what_comes_later() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", batch=1)
    worker.put(0)
    assert not worker.flush(0.01)
    assert worker.stats.waiting == 1
    flushed = threading.Event()

    def wait() -> None:
        if worker.flush(PATIENCE):
            flushed.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    for _ in range(1000):  # others go on handing things over
        worker.put(1)
    desk.go_on.set()
    waiting.join(PATIENCE)
    assert flushed.is_set()
    assert worker.close(PATIENCE)


def test_flush_waits_for_the_batch_that_is_out_even_when_the_queue_behind_it_was_dropped() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", capacity=1, batch=1)
    worker.put(0)
    assert desk.begun.acquire(timeout=PATIENCE)
    for item in range(1, 10):
        worker.put(item)
    assert not worker.flush(0.01)
    desk.go_on.set()
    assert worker.close(PATIENCE)


def test_close_gives_up_in_time_counts_what_is_left_as_waiting_and_the_worker_can_go_on() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", batch=1)
    worker.put(0)
    worker.put(1)
    assert not worker.close(0.01)
    assert worker.stats.waiting == 2
    desk.go_on.set()
    assert worker.close(PATIENCE)
    assert worker.close(PATIENCE)
    worker.put(2)
    assert worker.close(PATIENCE)
    assert desk.items == [0, 1, 2]


def test_a_worker_that_nobody_uses_any_more_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.01)
    desk = Desk()
    worker = BackgroundWorker(desk.work, "test")
    worker.put(0)
    assert worker.flush(PATIENCE)
    thread = worker._thread
    gone = weakref.ref(worker)
    del worker
    if thread is not None:
        thread.join(PATIENCE)
    del thread
    gc.collect()
    assert gone() is None


def test_a_process_that_exits_delivers_what_waits() -> None:
    code = (
        "from agentfp.plugin import BackgroundWorker\n"
        "worker = BackgroundWorker(lambda items, dropped: print(items), 'test', seconds=3600)\n"
        "worker.put(1); worker.put(2)\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "[1, 2]\n", "")


def _in_a_fork(worker: BackgroundWorker[int], desk: Desk, answers: multiprocessing.Queue[object]) -> None:
    desk.go_on.set()
    worker.put(7)
    answers.put((worker.close(PATIENCE), desk.items, worker.stats))


@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_a_forked_process_delivers_its_own_items_and_not_its_parents() -> None:
    desk = Desk()
    desk.go_on.clear()
    worker = BackgroundWorker(desk.work, "test", batch=1)
    worker.put(0)
    worker.put(1)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    with worker._changed:  # the worst moment
        child = context.Process(target=_in_a_fork, args=(worker, desk, answers))
        child.start()
    assert answers.get(timeout=PATIENCE) == (True, [7], WorkerStats(1, 1, 0, 0, 0, 1))
    child.join(PATIENCE)
    desk.go_on.set()
    assert worker.close(PATIENCE)
    assert desk.items == [0, 1]


@pytest.mark.parametrize("wrong", [{"capacity": 0}, {"batch": 0}, {"seconds": -1.0}, {"seconds": float("nan")}])
def test_sizes_that_cannot_be_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at least"):
        BackgroundWorker(lambda items, dropped: None, "test", **wrong)  # type: ignore[arg-type]


@settings(max_examples=30)
@given(
    steps=st.lists(st.sampled_from(["put", "put", "put", "flush", "close"]), max_size=40),
    capacity=st.integers(1, 5),
    batch=st.integers(1, 5),
    loses=st.lists(st.sampled_from([0, 1, 99, -1, "raise"]), max_size=10),
)
def test_the_counts_add_up_whatever_happens(steps: list[str], capacity: int, batch: int, loses: list[int | str]) -> None:
    delivered: list[int] = []
    left = list(loses)

    def work(items: list[int], dropped: int) -> int:
        delivered.extend(items)
        lost = left.pop() if left else 0
        if isinstance(lost, str):
            raise OSError
        return lost

    worker = BackgroundWorker(work, "test", capacity=capacity, batch=batch)
    put = 0
    for step in steps:
        if step == "put":
            worker.put(put)
            put += 1
        elif step == "flush":
            assert worker.flush(PATIENCE)
        else:
            assert worker.close(PATIENCE)
        stats = worker.stats
        assert stats.accepted == put == stats.done + stats.failed + stats.dropped + stats.waiting
        assert stats.waiting <= capacity + batch
    assert worker.close(PATIENCE)
    stats = worker.stats
    assert stats.waiting == 0
    assert delivered == sorted(set(delivered))
    assert len(delivered) == stats.done + stats.failed == put - stats.dropped
