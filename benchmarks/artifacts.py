"""Puts and gets a second of the stores of artifacts, beside `diskcache` (to be installed for it): one after the other, on one core."""

from __future__ import annotations

import asyncio
import importlib
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from agentfp.artifacts import PutArtifact, Scope
from agentfp_artifacts import file_artifacts, memory_artifacts, sqlite_artifacts
from benchmarks.harness import machine, options, pin_to_one_core, publish, table

SIZE = 4_000
SCOPE = Scope("conversation", "tenant", "principal")
DATA = ("0123456789" * SIZE)[:SIZE]


async def rate(action: Callable[[int], Awaitable[Any]], count: int) -> float:
    """How often a second something can be done."""
    begun = time.perf_counter()
    for index in range(count):
        await action(index)
    return count / (time.perf_counter() - begun)


async def of_store(store: Any, count: int) -> dict[str, float]:
    """A store's rates. What is got is what was put last, for some stores let go of the rest."""
    refs: list[str] = []

    async def put(index: int) -> None:
        done = await store.put(SCOPE, PutArtifact(kind="k", media_type="text/plain", data=DATA, digest="sha-256"))
        refs.append(done.meta.ref)

    async def get(index: int) -> None:
        assert await store.get(SCOPE, refs[-1 - index % 100]) is not None

    return {"puts": await rate(put, count), "gets": await rate(get, count)}


async def of_diskcache(folder: Path, count: int) -> dict[str, float] | None:
    """The same through diskcache, which has no scopes and no digests; None where it is not installed."""
    try:
        cache = importlib.import_module("diskcache").Cache(str(folder))
    except ImportError:
        return None

    async def put(index: int) -> None:
        cache[str(index)] = DATA

    async def get(index: int) -> None:
        assert cache[str(count - 1 - index % 100)] == DATA

    found = {"puts": await rate(put, count), "gets": await rate(get, count)}
    cache.close()
    return found


async def measure_all(count: int) -> dict[str, dict[str, float]]:
    """Every store, each in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        sqlite = sqlite_artifacts(where / "artifacts.db")
        found = {
            "memory, at its limit": await of_store(memory_artifacts(), count),
            "memory, no limit": await of_store(memory_artifacts(max_bytes_per_scope=None, max_count_per_scope=None), count),
            "sqlite": await of_store(sqlite, count),
            "file": await of_store(file_artifacts(where / "files"), max(count // 10, 100)),
        }
        sqlite.close()
        peer = await of_diskcache(where / "diskcache", count)
    return found if peer is None else {**found, "diskcache": peer}


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    found = asyncio.run(measure_all(500 if chosen.quick else 5_000))
    rows = [[name, f"{rates['puts']:,.0f}", f"{rates['gets']:,.0f}"] for name, rates in found.items()]
    text = table(f"Artifacts of {SIZE} characters (budget: 10,000 memory, 2,000 sqlite)", ["", "puts/s", "gets/s"], rows)
    publish(chosen, {"machine": machine(core), "artifacts": found}, text)


if __name__ == "__main__":
    main()
