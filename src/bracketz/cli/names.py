"""Names of the shipped models and estimators for the shell's completion, read from the source: a
key pressed must not wait for JAX to be imported."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(package: str) -> list[str]:
    """What ``bracketz.models`` or ``bracketz.estimators`` lists, in its order.

    Example:
        >>> shipped("estimators")[:2]
        ['bic', 'lw']
    """
    lines = _parsed(f"bracketz.{package}").body
    listed = [line for line in lines if isinstance(line, ast.ImportFrom)]
    return [_name(line.module or "", alias.name) for line in listed for alias in line.names]


def _parsed(module: str) -> ast.Module:
    base = PACKAGE.joinpath(*module.split(".")[1:])
    file = base / "__init__.py" if base.is_dir() else base.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _name(module: str, cls: str) -> str:
    """The ``name`` a class gives itself, wherever the module has the class from."""
    for line in _parsed(module).body:
        if isinstance(line, ast.ImportFrom) and cls in [alias.name for alias in line.names]:
            return _name(line.module or "", cls)
        if isinstance(line, ast.ClassDef) and line.name == cls:
            for said in line.body:
                if not isinstance(said, ast.Assign | ast.AnnAssign) or said.value is None:
                    continue
                if ast.unparse(said).startswith(("name =", "name:")):
                    return str(ast.literal_eval(said.value))
    raise LookupError(f"{cls} in {module} has no name")


def complete_model(incomplete: str) -> list[str]:
    """For arguments that take one model."""
    return [name for name in shipped("models") if name.startswith(incomplete)]


def complete_models(incomplete: str) -> list[str]:
    """For lists with commas between: the last one is completed."""
    before, comma, last = incomplete.rpartition(",")
    return [before + comma + name for name in complete_model(last)]


def complete_estimator(incomplete: str) -> list[str]:
    """For arguments that take one estimator."""
    return [name for name in shipped("estimators") if name.startswith(incomplete)]


def one_of(*words: str):
    """For options with a few words to choose from."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete
