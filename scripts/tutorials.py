"""Run the tutorials and put what they print into their pages.

    python scripts/tutorials.py                         # all of docs/tutorials: run and write
    python scripts/tutorials.py --check                 # write nothing; exit code 1 if one differs
    python scripts/tutorials.py docs/tutorials/pymc.md  # some

A page is run from top to bottom in an empty folder. Its Python blocks share one set of names; a
console block holds commands after ``$ ``. What a block prints stands below it: in the console block
itself, or in a text block titled "Output". SVG files that are left in the folder go to
docs/images/tutorials. The last line of a page says when it was run, and holds a hash of its code:
a test refuses a page whose code has changed since (tests/test_site.py).

Pages marked ``<!-- run: elsewhere -->`` (a GPU) are left alone unless ``--elsewhere`` is given.
"""

import argparse
import contextlib
import datetime
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = ROOT / "docs" / "tutorials"
IMAGES = ROOT / "docs" / "images" / "tutorials"
BLOCK = re.compile(
    r"^```(?P<kind>python|console)\n(?P<code>.*?)^```\n"
    r"(?P<output>\n```text title=\"Output\"\n.*?^```\n)?",
    re.S | re.M,
)
STAMP = re.compile(r"\n\*Run on .*?-->\n", re.S)
ELSEWHERE = "<!-- run: elsewhere -->"


def code_of(page: str) -> str:
    """Hash of what a page runs."""
    parts = []
    for block in BLOCK.finditer(page):
        lines = block["code"].splitlines()
        if block["kind"] == "console":
            lines = [line for line in lines if line.startswith("$ ")]
        parts.append("\n".join(lines))
    return hashlib.sha256("\n\n".join(parts).encode()).hexdigest()[:16]


def run_page(page: str) -> str:
    """The page with the output of this run, in the present folder."""
    names: dict = {"__name__": "tutorial"}

    def run_block(block: re.Match) -> str:
        if block["kind"] == "console":
            return f"```console\n{_commands(block['code'])}```\n"
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(block["code"], "tutorial", "exec"), names)
        text = _tidy(printed.getvalue())
        shown = f'\n```text title="Output"\n{text}```\n' if text else ""
        return f"```python\n{block['code']}```\n{shown}"

    return BLOCK.sub(run_block, page)


def _commands(text: str) -> str:
    environment = os.environ | {"COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    environment["PYTHONPATH"] = str(ROOT / "src")
    out = ""
    for line in text.splitlines():
        if line.startswith("$ "):
            done = subprocess.run(
                line[2:], shell=True, capture_output=True, text=True, env=environment
            )
            said = done.stdout or done.stderr.splitlines(keepends=True)[-1:]
            out += f"{line}\n{_tidy(''.join(said))}"
            if done.returncode not in (0, 1):
                sys.exit(f"{line}\n{done.stderr}")
    return out


def _tidy(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    while lines and not lines[0]:
        lines.pop(0)
    return "".join(f"{line}\n" for line in lines)


def machine() -> str:
    import jax

    device = jax.devices()[0]
    return device.device_kind if device.platform == "gpu" else f"{os.cpu_count()} cores"


def execute(file: Path, check: bool, elsewhere: bool = False) -> bool:
    """Whether the page printed what it shows."""
    from bracketz import __version__

    old = file.read_text(encoding="utf-8")
    if ELSEWHERE in old and not elsewhere:
        return True
    start = time.monotonic()
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            page = run_page(old)
        finally:
            os.chdir(here)
        pictures = list(Path(folder).glob("*.svg"))
        if not check:
            IMAGES.mkdir(parents=True, exist_ok=True)
            for picture in pictures:
                shutil.copy(picture, IMAGES / picture.name)
    seconds = time.monotonic() - start
    same = STAMP.sub("\n", page) == STAMP.sub("\n", old)
    if not check:
        how = "`scripts/tutorials.py --elsewhere`" if elsewhere else "`make tutorials`"
        stamp = (
            f"\n*Run on {datetime.date.today()} with bracketz {__version__}, in {seconds:.0f} s on"
            f" {machine()}, by {how}.* <!-- code: {code_of(page)} -->\n"
        )
        file.write_text(STAMP.sub("\n", page).rstrip("\n") + "\n" + stamp, encoding="utf-8")
    print(f"{file.name}: {'as it stands' if same else 'other output'}, {seconds:.0f} s", flush=True)
    return same


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("pages", nargs="*", type=Path)
    asked.add_argument("--check", action="store_true", help="Write nothing.")
    asked.add_argument("--elsewhere", action="store_true", help="Pages for other machines too.")
    options = asked.parse_args()
    pages = options.pages or [p for p in sorted(PAGES.glob("*.md")) if p.name != "index.md"]
    if (
        len(pages) > 1
    ):  # a process each: what one leaves behind in JAX or PyMC is not the next one's
        command = [sys.executable, __file__, *(["--check"] if options.check else [])]
        codes = [subprocess.run([*command, str(page)]).returncode for page in pages]
        sys.exit(max(codes))
    sys.exit(not execute(pages[0].resolve(), options.check, options.elsewhere) and options.check)


if __name__ == "__main__":
    main()
