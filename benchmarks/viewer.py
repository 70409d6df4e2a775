"""What looking at a run costs: a run of a thousand steps in Chromium, and a file of a gigabyte in memory.

`python -m benchmarks.viewer`; needs the viewer, playwright and a Chromium. `--megabytes` says how large the file is.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.browser import found

HEADER = {"agentfp": 1, "segment": {"root_id": "c", "run_id": "r", "first_seq": 0, "started_ns": 1}}


def events_of(steps: int, content: str) -> Iterator[dict[str, Any]]:
    """A run with one tool call a step, as the events that the kernel files for it."""
    for step in range(1, steps + 1):
        call = f"call_{step}"
        arguments = json.dumps({"step": step})
        yield {"name": "agentfp.agent.iteration_start", "data": {"iteration": step}}
        yield {"name": "agentfp.context.served", "data": {"call": step, "messages": 2 * step - 1, "receipt": "0" * 64}}
        yield {
            "name": "agentfp.stream.llm_end",
            "data": {"stop_reason": "tool_use", "tool_call_count": 1, "duration_ms": 1, "input_tokens": 9},
        }
        yield {"name": "agentfp.agent.route_decided", "data": {"chosen": "tool-calls"}}
        calls = [{"id": call, "name": "look", "arguments": arguments}]
        said = {"message_id": f"m{step}a", "role": "assistant", "author": "model", "content": "", "tool_calls": calls}
        yield {"name": "agentfp.message.added", "data": said}
        yield {"name": "agentfp.tool.started", "call": call, "data": {"tool": "look"}}
        yield {"name": "agentfp.tool.dispatched", "data": {"calls": [call]}}
        yield {
            "name": "agentfp.tool.ended",
            "call": call,
            "data": {"outcome": "success", "duration_ms": 1, "content": content, "ran": True},
        }
        read = {"message_id": f"m{step}t", "role": "tool", "author": "tool", "content_of": 0, "tool_call_id": call, "tool_name": "look"}
        yield {"name": "agentfp.message.added", "call": call, "data": read}
        yield {"name": "agentfp.agent.iteration_end", "data": {"tool_call_count": 1}}


def write(path: Path, steps: int, content: str) -> None:
    """Write such a run to a file."""
    with path.open("w", encoding="utf-8") as file:
        file.write(json.dumps(HEADER) + "\n")
        for seq, event in enumerate(events_of(steps, content)):
            place = {"seq": seq, "ts": seq, "off": seq * 1_000_000, "turn": 1, "iter": seq // 10 + 1, "src": "kernel"}
            if event["name"].endswith("message.added") and "content_of" in event["data"]:
                event["data"]["content_of"] = seq - 1
            file.write(json.dumps({"seq": seq, "name": event["name"], **place, **event}) + "\n")


def in_browser(path: Path) -> dict[str, float]:
    """Milliseconds until the rows of a file stand there and can be used, and for moving among them."""
    from playwright.sync_api import sync_playwright

    from agentfp_viewer import Library, Server

    server = Server(Library(path))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found(), args=["--no-sandbox", "--disable-gpu"])
            page = browser.new_page()
            begin = time.perf_counter()
            page.goto(server.url)
            page.wait_for_selector(".rows .row")
            page.keyboard.press("t")
            page.keyboard.press("End")
            page.wait_for_selector(".row.selected")
            ready = time.perf_counter()
            frames = page.evaluate(
                """async () => {
                    const list = document.getElementById("rows"), times = [];
                    for (let top = 0; top < list.scrollHeight; top += list.scrollHeight / 120) {
                        const begin = performance.now();
                        list.scrollTop = top;
                        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
                        times.push(performance.now() - begin);
                    }
                    return times.sort((a, b) => a - b);
                }"""
            )
            browser.close()
    finally:
        server.stop()
        thread.join()
    return {
        "interactive_ms": (ready - begin) * 1000,
        "scroll_p50_ms": frames[len(frames) // 2],
        "scroll_p95_ms": frames[len(frames) * 95 // 100],
    }


def in_memory(path: Path) -> dict[str, float]:
    """Seconds to open a file, and megabytes that the process grows by at its peak."""
    from agentfp_viewer.recording import Recording

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begin = time.perf_counter()
    recording = Recording(path)
    took = time.perf_counter() - begin
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    events = sum(len(thread) for thread in recording.threads.values())
    return {"file_mb": path.stat().st_size / 2**20, "events": events, "open_s": took, "grown_mb": grown}


def main() -> int:
    """Measure and print, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--megabytes", type=int, default=1_024)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        large = Path(folder, "large.jsonl")
        size = 100_000
        write(large, max(options.megabytes * 2**20 // size, 1), "x" * size)
        told: dict[str, Any] = {"large": in_memory(large)}
        large.unlink()
        run = Path(folder, "run.jsonl")
        write(run, options.steps, json.dumps({"reading": 1, "text": "x" * 200}))
        told[f"{options.steps} steps"] = in_browser(run)
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
