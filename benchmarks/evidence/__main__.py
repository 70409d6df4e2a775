"""Quality and speed of the evidence check: ``python -m benchmarks.evidence [--sealed | --tuning] [--profile NAME] [--show CLASS]``."""

from __future__ import annotations

import argparse
import collections
import statistics
import time
import zlib

from agentfp_evidence import EvidenceReport, Profile, judge
from benchmarks.evidence.answers import Case, cases
from benchmarks.evidence.mutants import Mutant, mutants_of, swaps_of
from benchmarks.evidence.speed import speed


def is_sealed(case: Case) -> bool:
    """Half of the cases are never looked at while the check is worked on."""
    return zlib.crc32(case.name.encode()) % 2 == 1


def _found(mutant: Mutant, report: EvidenceReport) -> bool:
    start = len(mutant.case.text({mutant.piece: "\0"}).partition("\0")[0])
    end = start + len(mutant.text)
    return any(v.verdict == "unsupported" and v.start < end and start < v.end for v in report.values)


def quality(chosen: list[Case], profile: Profile, show: str | None) -> None:
    """Print what is flagged of honest answers, and what is found of mutants, by class."""
    times: list[float] = []
    flagged: collections.Counter[str] = collections.Counter()
    strong = mentions = 0
    for case in chosen:
        begun = time.process_time()
        report = judge(case.text(), case.messages, profile=profile)
        times.append(time.process_time() - begun)
        mentions += len(case.values)
        strong += bool(report.strong)
        if report.unsupported:
            flagged[f"{case.domain.name}.{case.language}.{case.form}"] += 1
            if show in ("honest", "all"):
                print("  honest", case.name, report.unsupported)
    total: collections.Counter[str] = collections.Counter()
    hits: collections.Counter[str] = collections.Counter()
    for case in chosen:
        for mutant in mutants_of(case):
            report = judge(case.text({mutant.piece: mutant.text}), case.messages, profile=profile)
            total[mutant.mistake] += 1
            good = _found(mutant, report)
            hits[mutant.mistake] += good
            if not good and show in (mutant.mistake, "all"):
                print("  missed", case.name, mutant.mistake, repr(mutant.text), [v.how for v in report.values if v.text == mutant.text])
        for mutant in swaps_of(case):
            report = judge(case.text({mutant.piece: mutant.text}), case.messages, profile=profile)
            total[mutant.mistake] += 1
            good = any(m.value == mutant.text for m in report.misattached)
            hits[mutant.mistake] += good
            if not good and show in (mutant.mistake, "all"):
                print("  missed", case.name, mutant.mistake, repr(mutant.text))
    wrong = sum(flagged.values())
    print(f"profile {profile}: {len(chosen)} honest answers, {mentions} values in them")
    print(f"  honest answers flagged {100 * wrong / len(chosen):.1f} % ({wrong}), with a strong flag {100 * strong / len(chosen):.1f} %")
    found, all_ = sum(hits.values()) - hits["entity swap"], sum(total.values()) - total["entity swap"]
    print(f"  mistakes found {100 * found / max(1, all_):.1f} % of {all_}; median {1000 * statistics.median(times):.2f} ms an answer")
    for mistake in sorted(total):
        print(f"    {mistake:20s} {100 * hits[mistake] / total[mistake]:5.1f} % ({hits[mistake]}/{total[mistake]})")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evidence", description=__doc__)
    half = parser.add_mutually_exclusive_group()
    half.add_argument("--tuning", action="store_true", help="only the half to work on")
    half.add_argument("--sealed", action="store_true", help="only the sealed half")
    parser.add_argument("--profile", choices=["standard", "lexical", "strict"], help="one profile; standard and lexical unless given")
    parser.add_argument("--show", help="list the misses of a class of mistakes, 'honest' for flagged honest answers, or 'all'")
    parser.add_argument("--no-speed", action="store_true", help="leave the speed out")
    chosen = parser.parse_args()
    all_cases = cases()
    if chosen.tuning or chosen.sealed:
        all_cases = [case for case in all_cases if is_sealed(case) == chosen.sealed]
    profiles: list[Profile] = [chosen.profile] if chosen.profile else ["standard", "lexical"]
    for profile in profiles:
        quality(all_cases, profile, chosen.show)
    if not chosen.no_speed:
        speed()


if __name__ == "__main__":
    main()
