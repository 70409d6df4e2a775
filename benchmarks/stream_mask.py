"""What the mask of known secrets costs a stream that holds a long one: `python -m benchmarks.stream_mask [--quick] [--json PATH]`.

In processor time, the best of some; ``growth`` is what a secret of four times the length costs more, per character.
"""

from __future__ import annotations

import random
import string
import time

from agentfp_core.redaction import SecretMask
from agentfp_core.stream_mask import StreamMask
from benchmarks.harness import machine, options, pin_to_one_core, publish, table

PIECE = 4
LENGTHS = (1_250, 5_000, 20_000)
PROSE = "the quick brown fox jumps over the lazy dog, and says so. " * 400


def masked_us(secret: str, text: str, repeats: int) -> float:
    """Microseconds that a piece of a text takes."""
    mask = SecretMask({secret})
    mask.mask_text(text)  # what is done once a secret is not what is measured
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    best = float("inf")
    for _ in range(repeats):
        stream = StreamMask(mask)
        began = time.process_time()
        for piece in pieces:
            stream.feed(piece)
        stream.finish()
        best = min(best, time.process_time() - began)
    return best / len(pieces) * 1e6


def main() -> None:
    given = options(__doc__ or "")
    core = pin_to_one_core()
    repeats = 2 if given.quick else 7
    chars = "".join(random.Random(1).choices(string.ascii_letters + string.digits, k=LENGTHS[-1]))
    shapes = {
        "letters and digits": chars,
        "lines, as of a PEM file": "\n".join(chars[at : at + 64] for at in range(0, len(chars), 64)),
        "one letter": "a" * LENGTHS[-1],
    }
    found = {name: {n: masked_us(secret[:n], secret[:n], repeats) for n in LENGTHS} for name, secret in shapes.items()}
    found["no secret in it"] = {n: masked_us(chars[:n], PROSE, repeats) for n in LENGTHS}
    rows = [[name, *us.values(), us[LENGTHS[-1]] / us[LENGTHS[-2]]] for name, us in found.items()]
    headers = ["", *(f"us/piece, {n} chars" for n in LENGTHS), "growth"]
    title = f"Masking a secret that is streamed in pieces of {PIECE} characters (budget: growth 1.25)"
    publish(given, {"machine": machine(core), "stream_mask": found}, table(title, headers, rows))


if __name__ == "__main__":
    main()
