"""What MkDocs is told besides mkdocs.yml: pages that are made, links out of docs/, and maths.

    mkdocs build     # calls the functions whose names begin with on_ (make docs)

- The API pages list every public name for mkdocstrings, in the groups of scripts/api.py; the
  command line comes from the parser itself.
- README-like files outside docs/ become pages, and links to them are turned into links to these.
- Formulas between dollars are turned into MathML here, so that a page needs no script and no
  network to show them.
"""

import contextlib
import html
import posixpath
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]

#: Pages made of files elsewhere in the repository.
ELSEWHERE = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "notes/grosse2015.md": "papers/grosse2015/README.md",
    "notes/extending-example.md": "examples/extending/README.md",
}
LINK = re.compile(r"\[([^\]\[]*(?:\[[^\]]*\][^\]\[]*)*)\]\(([^)\s#:]+)(#[^)\s]*)?\)")
FENCE = re.compile(r"^(```.*?^```$)", re.S | re.M)
MATHS = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.S)


def on_config(config: Any) -> Any:
    """The navigation: API pages in their place, and new pages under Notes until somebody places
    them."""
    for folder in ("scripts", "src"):  # MkDocs puts sys.path back after it has read this file
        if str(ROOT / folder) not in sys.path:
            sys.path.insert(0, str(ROOT / folder))
    _section(config.nav, "API")[:0] = list(api_pages())
    listed = set(_pages(config.nav))
    docs = ROOT / "docs"
    there = (str(page.relative_to(docs)) for page in sorted(docs.rglob("*.md")))
    _section(config.nav, "Notes").extend(page for page in there if page not in listed)
    return config


def _pages(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from _pages(entry)


def _section(nav: Any, name: str) -> list:
    """The list of pages under a title, wherever it stands."""
    for entry in nav:
        for title, inside in entry.items() if isinstance(entry, dict) else ():
            if title == name:
                return inside
            if isinstance(inside, list):
                with contextlib.suppress(LookupError):
                    return _section(inside, name)
    raise LookupError(name)


def on_files(files: Any, config: Any) -> Any:
    """Add what is made."""
    made = {name: (ROOT / file).read_text(encoding="utf-8") for name, file in ELSEWHERE.items()}
    made |= api_pages() | {"reference/cli.md": command_line()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Links as they are in the repository, turned into links of the site."""
    here = page.file.src_uri
    home = ELSEWHERE.get(here, f"docs/{here}")
    site = {file: name for name, file in ELSEWHERE.items()} | {"README.md": "index.md"}

    def moved(link: re.Match) -> str:
        text, address, anchor = link[1], link[2], link[3] or ""
        target = posixpath.normpath(posixpath.join(posixpath.dirname(home), address))
        if target in site:
            target = site[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif (ROOT / target).exists():  # a file of the repository that is no page
            return text
        else:  # left for the strict build to complain about
            return link[0]
        return f"[{text}]({posixpath.relpath(target, posixpath.dirname(here) or '.')}{anchor})"

    # GitHub's second anchor of a name ends in -1, MkDocs' in _1.
    markdown = re.sub(r"(?<=\]\(#)(bz\w+)-(\d+)(?=\))", r"\1_\2", markdown)
    parts = FENCE.split(markdown)
    parts[::2] = (LINK.sub(moved, part) for part in parts[::2])
    text = "".join(parts)
    if date := note_dates().get(here):
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n*Lab note, last changed {date}. [All notes]({_up(here)}).*\n{rest}"
    return text


def note_dates() -> dict[str, str]:
    """When each note was last changed, by page: the table of docs/notes/index.md."""
    index = (ROOT / "docs" / "notes" / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| \[.*\]\((.*)\) \| (\d{4}-\d\d-\d\d) \|", index, flags=re.M)
    return {posixpath.normpath(posixpath.join("notes", link)): date for link, date in rows}


def _up(here: str) -> str:
    return posixpath.relpath("notes/index.md", posixpath.dirname(here) or ".")


def on_page_content(content: str, page: Any, config: Any, files: Any) -> str:
    """Maths as MathML."""

    def shown(found: re.Match) -> str:
        made = convert(html.unescape(found[3]), display="block" if found[2] == "[" else "inline")
        return made.replace("<mi>log</mi><mi>", '<mi>log</mi><mspace width="0.17em" /><mi>')

    return MATHS.sub(shown, content)


def api_pages() -> dict[str, str]:
    """One page per group, every public name once: its heading, and its home for mkdocstrings."""
    import api

    pages = {}
    for group in api.GROUPS:
        named = [(name, obj) for name, obj in api.public_objects() if api.place(obj)[0] == group]
        named.sort(key=lambda pair: api.place(pair[1])[1])
        title = group.partition(":")[0]
        lines = [f"# {title}", ""]
        for name, obj in named:
            lines += [f"::: {obj.__module__}.{obj.__qualname__}", "    options:"]
            lines += [f"      heading: bz.{name}", f"      toc_label: {name}", ""]
        pages[f"reference/api/{title.lower().replace(' ', '-')}.md"] = "\n".join(lines)
    return pages


def command_line() -> str:
    """Every command with its arguments and options, from the parser."""
    import typer
    from typer.main import get_command

    from bracketz.cli.app import app

    root = get_command(app)
    out = [
        "# Command line",
        "Made from the parser. Exit code 0: done; 1: a check failed or a goal was not reached; 2:"
        " bad input, said in one sentence. With `--json` a command prints one"
        " [JSON object](json.md) on standard output and nothing else there; progress and messages"
        " go to standard error.",
    ]

    def describe(command: Any, words: str, context: Any) -> None:
        out.append(f"## {words}")
        out.append(_plain(command.help or ""))
        parameters = command.get_params(context)
        out.append(f"```sh\n{words} {' '.join(command.collect_usage_pieces(context))}\n```")
        rows = [row for p in parameters if (row := _row(p, context)) is not None]
        if rows:
            head = "| argument or option | default | |\n|---|---|---|"
            out.append("\n".join([head, *rows]))
        for name, sub in getattr(command, "commands", {}).items():
            inner = type(context)(sub, info_name=name, parent=context)
            describe(sub, f"{words} {name}", inner)

    context = typer.Context(root, info_name="bracketz")
    describe(root, "bracketz", context)
    return "\n\n".join(out) + "\n"


def _row(parameter: Any, context: Any) -> str | None:
    """One line of a table: what the help screen says, its default in a column of its own."""
    record = parameter.get_help_record(context)
    if record is None or parameter.name == "help":
        return None
    name, said = record
    default = ""
    if found := re.search(r"\s*\[(?:default: (.*)|(required))\]$", said):
        said, default = said[: found.start()], (found[1] or found[2]).strip("()")
    return f"| `{name}` | {_plain(default)} | {_plain(said)} |"


def _plain(text: str) -> str:
    """Help without Rich's marks, safe in a table."""
    text = re.sub(r"\[/?(?:bold|dim|italic|cyan|green|red)[^\]]*\]", "", text)
    return " ".join(html.escape(text, quote=False).split()).replace("|", "\\|")
