"""How long a judgement takes: a long answer over large results, first and again, and a conversation that grows."""

from __future__ import annotations

import json
import random
import statistics
import time
from typing import Any

from agentfp_evidence import EvidenceIndex, judge_with

RUNS = 30


def _results(rng: random.Random, size: int) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    made = 0
    while made < size:
        rows = [
            {
                "id": f"vol-{rng.randrange(10**6)}",
                "used_gb": rng.randrange(9999),
                "owner": f"user_{rng.randrange(999)}",
                "seen": f"2025-0{rng.randrange(1, 9)}-1{rng.randrange(9)}",
            }
            for _ in range(60)
        ]
        content = json.dumps({"volumes": rows, "note": "All volumes of the array are listed; sizes are in gigabytes. " * 3})
        made += len(content)
        messages.append({"role": "tool", "tool_call_id": f"c{len(messages)}", "content": content})
    return messages


def _answer(rng: random.Random, messages: list[dict[str, Any]], words: int) -> str:
    rows = [row for m in messages for row in json.loads(m["content"])["volumes"]]
    lines: list[str] = []
    while sum(len(line.split()) for line in lines) < words:
        row = rng.choice(rows)
        lines.append(f"- Volume {row['id']} of {row['owner']} holds {row['used_gb']:,} GB and was seen on {row['seen']}, so all is well.")
    lines.append("In total 3 volumes hold 1,234,567 GB, as Beatrix Lowenthal said.")
    return "\n".join(lines)


def speed() -> None:
    """Print how long judgements take."""
    rng = random.Random(7)
    messages = _results(rng, 200_000)
    answers = [_answer(rng, messages, 1_500) for _ in range(RUNS)]
    begun = time.process_time()
    index = EvidenceIndex(messages)
    judge_with(index, answers[0])
    first = time.process_time() - begun
    times = sorted(_timed(index, answer) for answer in answers)
    tokens = len(answers[0]) / 4
    print(f"speed: {sum(len(m['content']) for m in messages) / 1000:.0f} kB of results, answers of about {tokens:.0f} tokens")
    print(f"  first judgement, the index included {1000 * first:.1f} ms")
    print(f"  further judgements: median {1000 * statistics.median(times):.1f} ms, p95 {1000 * times[int(0.95 * RUNS)]:.1f} ms")
    more = _results(rng, 3_000)[:1]
    begun = time.process_time()
    index.add(more)
    judge_with(index, "Volume vol-1 holds 1 GB.")
    took = 1000 * (time.process_time() - begun)
    print(f"  one more message of {len(more[0]['content']) / 1000:.0f} kB, indexed and a short answer judged: {took:.1f} ms")


def _timed(index: EvidenceIndex, answer: str) -> float:
    begun = time.process_time()
    judge_with(index, answer)
    return time.process_time() - begun
