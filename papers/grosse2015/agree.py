"""Do two ledgers agree?

    python papers/grosse2015/agree.py out/ledger.json papers/grosse2015/results/ledger.json

A claim that holds in one and does not hold in the other is a contradiction; one that is within
noise, not decided or not run in either contradicts nothing, and is counted. Exit code 1 if there
are contradictions, or if the ledgers are not of the same claims.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

FIRM = ("holds", "does not hold")


def states(ledger: Path) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in json.loads(ledger.read_text(encoding="utf-8"))}


def compared(one: dict[str, dict], other: dict[str, dict]) -> tuple[int, list[str], list[str]]:
    """(number that agree, claims that are open in either, contradictions)."""
    same, loose, against = 0, [], []
    for name, row in one.items():
        a, b = row["state"], other[name]["state"]
        if a == b:
            same += 1
        elif a in FIRM and b in FIRM:
            against.append(f"{name}: {a} ({row['ours']}), but {b} ({other[name]['ours']})")
        else:
            loose.append(f"{name}: {a}, {b}")
    return same, loose, against


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ledgers", type=Path, nargs=2)
    options = parser.parse_args()
    one, other = map(states, options.ledgers)
    if one.keys() != other.keys():
        print(f"not of the same claims: {sorted(one.keys() ^ other.keys())}")
        return 1
    same, loose, against = compared(one, other)
    print(f"{same} of {len(one)} verdicts are the same, {len(loose)} more contradict nothing:")
    print("\n".join(f"  {line}" for line in loose))
    print(f"{len(against)} contradict each other" + (":" if against else ""))
    print("\n".join(f"  {line}" for line in against))
    return int(bool(against))


if __name__ == "__main__":
    sys.exit(main())
