"""How long `import agentfp` takes over bare Python, and what it brings along. A module that it must not bring is an error."""

from __future__ import annotations

import json
import subprocess
import sys
import time

from benchmarks.harness import machine, options, pin_to_one_core, publish, table

STATEMENTS = ("import agentfp", "from agentfp import Agent, tool", "import agentfp.plugin", "import agentfp.events")
UNWANTED = (
    "agents", "anthropic", "authlib", "boto3", "botocore", "google.genai", "httpx", "jsonschema", "mcp", "numpy", "openai",
    "opentelemetry.exporter", "opentelemetry.sdk", "psycopg", "pytest", "redis", "rich", "sqlite3", "tomlkit", "trio", "typer",
)  # fmt: skip
"""What only a plugin, a provider, the command line or a first use may import."""


def wall_ms(code: str) -> float:
    """How long a fresh interpreter takes for a piece of code."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return (time.perf_counter() - start) * 1e3


def modules(statement: str) -> list[str]:
    """The modules that are loaded after a statement."""
    code = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    names: list[str] = json.loads(done.stdout)
    return names


def over_bare_ms(reps: int) -> dict[str, float]:
    """Best time of each statement less the best time of an empty program, taken in turn."""
    codes = ("pass", *STATEMENTS)
    best = dict.fromkeys(codes, float("inf"))
    for _ in range(reps):
        for code in codes:
            best[code] = min(best[code], wall_ms(code))
    return {code: best[code] - best["pass"] for code in STATEMENTS}


def main() -> None:
    chosen = options(__doc__)
    core = pin_to_one_core()
    loaded = {statement: modules(statement) for statement in STATEMENTS}
    unwanted = {statement: [name for name in UNWANTED if name in names] for statement, names in loaded.items()}
    times = over_bare_ms(3 if chosen.quick else 25)
    rows = [[s, times[s], len(loaded[s]), ", ".join(unwanted[s]) or "none"] for s in STATEMENTS]
    data = {
        "machine": machine(core),
        "imports": [{"statement": s, "over_bare_ms": times[s], "modules": len(loaded[s]), "unwanted": unwanted[s]} for s in STATEMENTS],
    }
    publish(chosen, data, table("Import (budget: 90 ms over bare Python)", ["", "ms", "modules", "unwanted"], rows))
    if any(unwanted.values()):
        sys.exit("imports: a module came along that must not")


if __name__ == "__main__":
    main()
