"""The README's numbers against the commands that print them.

    python scripts/readme.py     # bracketz demo, about a minute; exit code 1 if a number differs

The table of the demo: every cell must be what ``bracketz demo --json`` gives now, rounded as there.
(The cheap numbers of the README are checked by tests/test_examples.py.)
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]


def table(text: str) -> dict[str, list[str]]:
    """Cells by model, of the table that begins with "model"."""
    rows = re.findall(r"^\| ([a-z-]+) \| (-.*) \|$", text, flags=re.M)
    return {model: [cell.strip() for cell in cells.split("|")] for model, cells in rows}


def cells(answer: dict) -> list[str]:
    """One row of the table, from the JSON of a sandwich."""
    low, high = answer["certificate"]["low"], answer["certificate"]["high"]
    return [
        f"{answer['log_ml']:.2f} ± {answer['standard_error']:.2f}",
        f"{answer['lower']:.2f}",
        f"{answer['upper']:.2f}",
        f"{answer['gap']:.2f}",
        f"{low:.1f} to {high:.1f}",
    ]


def main() -> None:
    shown = table((ROOT / "README.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "bracketz", "demo", "--json", "--out", f"{folder}/demo"]
        done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    printed = {a["model"]: cells(a) for a in json.loads(done.stdout)["sandwiches"]}
    for model, row in printed.items():
        print(model, *row, sep=" | ")
    if shown != printed:
        sys.exit(f"the README shows {shown}")
    print("as in the README")


if __name__ == "__main__":
    main()
