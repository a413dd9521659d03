"""docs/api.md, the API reference, from the docstrings.

    python scripts/api.py            # print it
    python scripts/api.py --write    # write docs/api.md

Names, order and text come from the package: a name that is public and in none of the groups below
is an error.
"""

import enum
import inspect
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bracketz as bz

PAGE = Path(__file__).parents[1] / "docs" / "api.md"
RUN, EXTEND = "Run", "Extend: contracts and capabilities"
#: Where the classes of a module belong, from the top of the page; functions that run something go
#: to ``RUN``.
GROUPS = {
    RUN: ("bracketz.engine.session", "bracketz.engine.checkpoint", "bracketz.errors"),
    "Results": (
        "bracketz.inference.sandwich",
        "bracketz.inference.answer",
        "bracketz.inference.compare",
        "bracketz.inference.comparison",
        "bracketz.inference.sweep",
        "bracketz.inference.conditional",
        "bracketz.inference.evidence",
        "bracketz.inference.interval",
        "bracketz.inference.each",
        "bracketz.inference.brackets",
        "bracketz.inference.glm.",
        "bracketz.inference.ratio",
        "bracketz.inference.average",
        "bracketz.inference.distance",
        "bracketz.inference.quality",
        "bracketz.testbed.tune.answer",
        "bracketz.core.results",
        "bracketz.core.betting",
    ),
    "Data": ("bracketz.data.",),
    "Your own model": ("bracketz.adapters.", "bracketz.models.factored"),
    "Models": (
        "bracketz.models.clustering.",
        "bracketz.models.low_rank.",
        "bracketz.models.binary_attributes.",
        "bracketz.models.",
    ),
    "Estimators": ("bracketz.estimators.base", "bracketz.estimators."),
    "Paths": ("bracketz.core.path", "bracketz.paths."),
    EXTEND: (
        "bracketz.core.model",
        "bracketz.core.pytree",
        "bracketz.core.capabilities",
        "bracketz.core.undirected",
        "bracketz.core.conditional",
        "bracketz.numerics.conditionals",
        "bracketz.engine.run",
    ),
    "Kernels": ("bracketz.core.kernel", "bracketz.kernels."),
    "Correctness kit": ("bracketz.check.",),
    "Plots": ("bracketz.plots.",),
    "Testbed": ("bracketz.testbed.",),
}
#: The modules of those functions, in order.
RUNNERS = (
    "bracketz.inference.sandwich",
    "bracketz.estimators.base",
    "bracketz.inference.compare",
    "bracketz.inference.sweep",
    "bracketz.inference.conditional",
    "bracketz.inference.evidence",
    "bracketz.inference.glm.certificate",
    "bracketz.inference.fractional",
    "bracketz.inference.information",
    "bracketz.inference.quality",
    "bracketz.testbed.tune.search",
    "bracketz.models.boltzmann.held_out",
)
SECTIONS = ("Args", "Attributes", "Returns", "Raises", "Example")


class Docstring:
    """A docstring taken apart: summary, text, and sections by name (lines, dedented)."""

    def __init__(self, text: str):
        self.sections: dict[str, list[str]] = {}
        prose: list[str] = []
        here = prose
        for line in inspect.cleandoc(text).split("\n"):
            if line.removesuffix(":") in SECTIONS and line.endswith(":"):
                here = self.sections[line[:-1]] = []
            else:
                here.append(line if here is prose else line.removeprefix("    "))
        paragraphs = "\n".join(prose).strip().split("\n\n")
        self.summary = " ".join(paragraphs[0].split())
        self.text = "\n\n".join(paragraphs[1:])
        self.sections = {n: "\n".join(s).strip("\n").split("\n") for n, s in self.sections.items()}

    def entries(self, section: str) -> list[tuple[str, str]]:
        """(names, text) of a section whose entries begin at its margin."""
        found: list[list[str]] = []
        for line in self.sections.get(section, []):
            if line.startswith(" ") and found:
                found[-1][1] += " " + line.strip()
            elif line:
                name, _, said = line.partition(": ")
                found.append([name, said])
        return [(name, said) for name, said in found]


def public_objects() -> Iterator[tuple[str, Any]]:
    """(name after ``bz.``, function or class), every one once."""
    for prefix, module in (
        ("", bz),
        ("check.", bz.check),
        ("check.selftest.", bz.check.selftest),
        ("plots.", bz.plots),
        ("testbed.", bz.testbed),
    ):
        for name in getattr(module, "__all__", ["run"]):
            obj = getattr(module, name)
            if inspect.isfunction(obj) or isinstance(obj, type):
                yield prefix + name, obj


def own_docstring(obj: Any) -> str:
    """What the object itself says, nothing inherited."""
    return vars(obj).get("__doc__") or "" if isinstance(obj, type) else obj.__doc__ or ""


def place(obj: Any) -> tuple[str, int]:
    """(the group an object belongs to, its rank there)."""
    module = obj.__module__
    if inspect.isfunction(obj) and module in RUNNERS:
        return RUN, RUNNERS.index(module) - len(RUNNERS)
    for group, modules in GROUPS.items():
        for rank, here in enumerate(modules):
            if module == here or (here[-1] == "." and module.startswith(here)):
                return group, rank
    raise SystemExit(f"{module} is in no group of scripts/api.py")


def constructor(cls: type) -> dict[str, inspect.Parameter]:
    """What a person gives to make one: the parameters of bracketz's own classes."""
    made_here = any(
        "__init__" in vars(base) or "_fields" in vars(base)
        for base in cls.__mro__
        if base.__module__.startswith("bracketz.")
    )
    if not made_here or issubclass(cls, enum.Enum) or getattr(cls, "_is_protocol", False):
        return {}
    return dict(inspect.signature(cls).parameters)


def public_members(cls: type) -> list[str]:
    """Methods and properties the class itself writes."""

    def written(value: Any) -> bool:
        value = getattr(value, "fget", None) or getattr(value, "func", None) or value
        return inspect.isfunction(getattr(value, "__func__", value))

    return [name for name, value in vars(cls).items() if name[0] != "_" and written(value)]


def _annotation(annotation: Any) -> str:
    """As in the source, without the modules names come from."""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    return re.sub(r"\b(?:\w+\.)+(?=\w)", "", re.sub("['\"~]", "", text))


def _parameter(parameter: inspect.Parameter) -> str:
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    empty = inspect.Parameter.empty
    if parameter.annotation is not empty:
        text += f": {_annotation(parameter.annotation)}"
    if parameter.default is not empty:
        shown = repr(parameter.default)
        plain = len(shown) <= 40 and "<" not in shown and shown != repr(bz.__version__)
        spaced = " = " if parameter.annotation is not empty else "="
        text += spaced + (shown if plain else "...")
    return text


def signature(name: str, parameters: dict[str, inspect.Parameter], returns: Any = None) -> str:
    """A call as one reads it, one parameter a line where it is long."""
    parts: list[str] = []
    for parameter in parameters.values():
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(_parameter(parameter))
    end = ")" if returns in (None, inspect.Signature.empty) else f") -> {_annotation(returns)}"
    line = f"{name}({', '.join(parts)}{end}"
    if len(line) <= 88:
        return line
    return f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + end


def _call(name: str, function: Any, method: bool = False) -> str:
    signed = inspect.signature(function)
    parameters = dict(list(signed.parameters.items())[method:])
    return signature(name, parameters, signed.return_annotation)


def _declaration(name: str, obj: Any) -> str:
    if not isinstance(obj, type):
        return _call(f"bz.{name}", obj)
    if issubclass(obj, enum.Enum):
        return f"class bz.{name}: " + ", ".join(member.name for member in obj)
    parameters = constructor(obj)
    return f"class {signature(f'bz.{name}', parameters)}" if parameters else f"class bz.{name}"


#: What Markdown would take for a mark: a star or tilde that touches a word (unless it is
#: *emphasis*), an underscore at a word's edge, a tag.
EMPHASIS = r"(?<!\w)\*\w[^*]*\w\*(?!\w)"
MARK = r"(?<=\S)[*~]|[*~](?=\S)|\b_(?!\w)|(?<!\w)_|<(?=[a-zA-Z/!])"


def _prose(text: str) -> str:
    """Double backticks as Markdown's single ones; formulas as they are."""
    parts = re.split(rf"(``.+?``|{EMPHASIS})", text, flags=re.S)
    out = []
    for part in parts:
        if part.startswith("``"):
            out.append(f"`{' '.join(part[2:-2].split())}`")
        else:
            whole = re.fullmatch(EMPHASIS, part)
            out.append(part if whole else re.sub(MARK, r"\\\g<0>", part))
    return "".join(out)


def _body(doc: Docstring) -> list[str]:
    out = [_prose(doc.summary)]
    if doc.text:
        out.append("\n\n".join(_paragraph(p) for p in doc.text.split("\n\n")))
    for section in ("Args", "Attributes"):
        if section in doc.sections:
            lines = [f"- `{names}`: {_prose(said)}" for names, said in doc.entries(section)]
            out.append("\n".join([f"**{section}**", "", *lines]))
    if "Returns" in doc.sections:
        out.append(f"**Returns** {_prose(' '.join(' '.join(doc.sections['Returns']).split()))}")
    if "Raises" in doc.sections:
        lines = [f"- `{names}`: {_prose(said)}" for names, said in doc.entries("Raises")]
        out.append("\n".join(["**Raises**", "", *lines]))
    if "Example" in doc.sections:
        out.append("\n".join(["```pycon", *doc.sections["Example"], "```"]))
    return out


def _paragraph(text: str) -> str:
    """Indented lines are formulas and stay as they are."""
    if text.startswith("    "):
        return "```text\n" + textwrap.dedent(text) + "\n```"
    return " ".join(_prose(text).split())


def _members(cls: type) -> list[str]:
    """One line for each method and property the class writes and documents itself."""
    lines = []
    for name in public_members(cls):
        member = vars(cls)[name]
        function = getattr(member, "__func__", member)
        said = inspect.getdoc(function if inspect.isfunction(function) else member)
        if not (function.__doc__ and said):
            continue
        call = _call(name, function, method=True) if inspect.isfunction(function) else name
        call = " ".join(call.split()).replace("( ", "(").replace(",)", ")")
        doc = Docstring(said)
        text = (
            " ".join(f"{doc.summary} {doc.text}".split()) if "    " not in doc.text else doc.summary
        )
        lines.append(f"- `{call}`: {_prose(text.strip())}")
    return ["\n".join(["**Methods and properties**", "", *lines])] if lines else []


def _ancestry(cls: type) -> list[str]:
    """The classes it is a kind of, as far as they are public."""
    public = {obj: name for name, obj in public_objects()}
    bases = [f"`bz.{public[base]}`" for base in cls.__bases__ if base in public]
    return [f"A kind of {', '.join(bases)}."] if bases else []


def _class_attributes(cls: type) -> list[str]:
    """What a subclass may set: annotated names with a ``#:`` comment above them."""
    lines, comment = [], []
    for line in inspect.getsource(cls).split("\n"):
        text = line.strip()
        if text.startswith("#: "):
            comment.append(text[3:])
            continue
        found = re.match(r"(\w+): ClassVar\[(.*)\](?: = (.*))?$", text)
        if found and comment and found[1][0] != "_":
            default = f" = {found[3]}" if found[3] else ""
            said = _prose(" ".join(comment))
            lines.append(f"- `{found[1]}: {_annotation(found[2])}{default}`: {said}")
        comment = []
    return ["\n".join(["**Class attributes**", "", *lines])] if lines else []


def page() -> str:
    """The whole reference."""
    groups: dict[str, list[tuple[str, Any]]] = {group: [] for group in GROUPS}
    for name, obj in sorted(public_objects(), key=lambda pair: place(pair[1])[1]):
        groups[place(obj)[0]].append((name, obj))
    anchors = _anchors([(group, [name for name, _ in rest]) for group, rest in groups.items()])
    out = [
        "# API reference",
        "Made by `python scripts/api.py --write` from the docstrings; every example runs as a test"
        " (`tests/test_public_api.py`). `import bracketz as bz`; names load when they are first"
        " used.",
        "\n".join(
            f"- [{group}](#{anchors[group]}): "
            + ", ".join(f"[`{name}`](#{anchors['bz.' + name]})" for name, _ in members)
            for group, members in groups.items()
        ),
    ]
    for group, members in groups.items():
        out.append(f"## {group}")
        for name, obj in members:
            out += [f"### bz.{name}", f"```text\n{_declaration(name, obj)}\n```"]
            out += _body(Docstring(own_docstring(obj)))
            if isinstance(obj, type):
                out += _ancestry(obj) + _class_attributes(obj) + _members(obj)
    return "\n\n".join(out) + "\n"


def _anchors(groups: list[tuple[str, list[str]]]) -> dict[str, str]:
    """GitHub's anchor of every heading: lower case, punctuation dropped, and a number where one is
    taken (``sandwich`` and ``Sandwich``)."""
    taken: dict[str, int] = {}
    anchors = {}
    for group, names in groups:
        for text in (group, *(f"bz.{name}" for name in names)):
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = taken[anchor] = taken.get(anchor, -1) + 1
            anchors[text] = f"{anchor}-{count}" if count else anchor
    return anchors


def main() -> None:
    if "--write" in sys.argv:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
