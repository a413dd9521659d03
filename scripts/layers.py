"""Which package imports which, and whether every arrow points down.

    python scripts/layers.py            # the graph; exit code 1 if an arrow points up
    python scripts/layers.py --write    # put the graph into docs/design.md

Read from the source, imports inside functions included. Only imports for type checkers (``if
TYPE_CHECKING``) do not count: they are not there when the program runs.
"""

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "bracketz"
PAGE = ROOT / "docs" / "design.md"
BEGIN, END = "<!-- layers: begin (scripts/layers.py --write) -->\n", "<!-- layers: end -->\n"
#: From the ground up. A package imports packages of lower layers only; those of one layer do not
#: know each other.
LAYERS = (
    ("errors", "caches", "wording", "_version"),
    ("outputs",),
    ("plots", "registry", "interchange"),
    ("core",),
    ("kernels", "numerics", "paths"),
    ("engine",),
    ("models",),
    ("adapters",),
    ("data",),
    ("estimators", "inference"),
    ("check", "testbed"),
    ("papers",),
    ("cli",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}


def imports(path: Path) -> set[str]:
    """The packages of bracketz a file imports when it runs."""
    found: set[str] = set()

    def look(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            return
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module == "bracketz":
            names = [f"bracketz.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        found.update(name.split(".")[1] for name in names if name.startswith("bracketz."))
        for child in ast.iter_child_nodes(node):
            look(child)

    look(ast.parse(path.read_text(encoding="utf-8")))
    return found - {"__version__"}


def graph() -> dict[str, set[str]]:
    """Package -> packages it imports."""
    arrows: dict[str, set[str]] = {name: set() for name in RANK}
    for path in SOURCE.rglob("*.py"):
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if package in RANK:
            arrows[package] |= imports(path) - {package}
    return arrows


def wrong(arrows: dict[str, set[str]]) -> list[str]:
    """A sentence for every arrow that does not point down."""
    out = []
    for package, others in sorted(arrows.items()):
        for other in sorted(others):
            if other not in RANK:
                out.append(f"{package} imports {other}, which is in no layer")
            elif RANK[other] >= RANK[package]:
                out.append(f"{package} imports {other}, which is not below it")
    return out


def drawn(arrows: dict[str, set[str]]) -> str:
    """The layers from the top down, each package with what it imports."""
    ground = set(LAYERS[0])
    lines = ["| layer | package | imports |", "|---|---|---|"]
    for rank in range(len(LAYERS) - 1, 0, -1):
        for package in LAYERS[rank]:
            below = sorted(arrows[package] - ground, key=lambda name: (-RANK[name], name))
            lines.append(f"| {rank} | `{package}` | {', '.join(below) or '–'} |")
    return "\n".join(lines) + "\n"


def picture(arrows: dict[str, set[str]]) -> str:
    """The same as a Mermaid graph, without the arrows that follow from others."""
    ground = set(LAYERS[0])
    below: dict[str, set[str]] = {}
    for package in sorted(arrows, key=RANK.__getitem__):
        below[package] = set().union(*({other} | below[other] for other in arrows[package]), set())
    lines = ["```mermaid", "graph TD"]
    for package in sorted(arrows, key=lambda name: (-RANK[name], name)):
        direct = arrows[package] - ground
        implied = set().union(*(below[other] for other in direct), set())
        lines += [f"    {package} --> {other}" for other in sorted(direct - implied)]
    return "\n".join([*lines, "```"]) + "\n"


def page(text: str) -> str:
    """A page with the graph between its marks."""
    before, rest = text.split(BEGIN)
    arrows = graph()
    return before + BEGIN + picture(arrows) + "\n" + drawn(arrows) + END + rest.split(END)[1]


def main() -> None:
    arrows = graph()
    if "--write" in sys.argv:
        PAGE.write_text(page(PAGE.read_text()))
    print(drawn(arrows), end="")
    problems = wrong(arrows)
    print("\n".join(problems) or "every arrow points down")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
