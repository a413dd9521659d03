"""A user's own model by its name on the command line: ``models.py:regression``, ``module:NAME`` or
``linear.stan``."""

import importlib
import importlib.util
import inspect
import sys
import traceback
import types
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from bracketz.core.model import Model
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError, unknown

#: What ``pip install "bracketz[...]"`` brings.
EXTRAS = {"numpyro": "numpyro", "funsor": "numpyro", "pymc": "pymc", "pytensor": "pymc"}
#: Files imported here, by the name they are known by.
_IMPORTED: dict[str, types.ModuleType] = {}


def is_own(name: str) -> bool:
    """Whether a name is that of a user's model, not of a shipped one.

    Example:
        >>> is_own("models.py:regression"), is_own("clustering")
        (True, False)
    """
    return ":" in name or name.endswith((".py", ".stan"))


def find(name: str) -> Any:
    """What stands behind ``FILE.py:NAME`` or ``module:NAME``: a model, its class, a function, or
    whatever it may be. NAME goes on into dictionaries and attributes: ``MODELS.linear``."""
    file, _, attribute = name.partition(".py:")
    if name.endswith(".py"):
        module = imported(Path(name))
        known = ", ".join(f"{name}:{one}" for one in _candidates(module)) or f"{name}:NAME"
        raise InputError(f"{name} is a file; name the model in it: {known}")
    if attribute:
        module, place = imported(Path(f"{file}.py")), f"{file}.py"
    else:
        place, _, attribute = name.partition(":")
        module = _import_module(place)
    return _member(module, attribute, place)


def _member(module: types.ModuleType, name: str, place: str) -> Any:
    first, _, rest = name.partition(".")
    if first not in vars(module):
        raise unknown(f"name in {place}", first, _candidates(module) or ["NAME"])
    found: Any = vars(module)[first]
    if rest and isinstance(found, Mapping):
        if rest not in found:
            raise unknown(f"name in {first} of {place}", rest, map(str, found))
        return found[rest]
    for part in rest.split(".") if rest else ():
        if not hasattr(found, part):
            raise unknown(
                f"name in {first} of {place}", part, (n for n in dir(found) if n[0] != "_")
            )
        found = getattr(found, part)
    return found


def _candidates(module: types.ModuleType) -> list[str]:
    """Names of a module that may be models: what it defines itself, and models it has made."""
    return [
        name
        for name, value in vars(module).items()
        if name[0] != "_"
        and not isinstance(value, types.ModuleType)
        and (
            isinstance(value, Model)
            or is_pymc(value)
            or (callable(value) and getattr(value, "__module__", None) == module.__name__)
        )
    ]


# Importing.


def imported(path: Path) -> types.ModuleType:
    """The module in a file, run now, with its folder to import from."""
    if not path.is_file():
        raise InputError(f"no file {path}")
    name = path.stem
    if name in sys.modules and sys.modules[name] is not _IMPORTED.get(name):
        name = f"{name}_"  # a library of the same name stays what it is
    use_all_cores()  # before its code starts JAX
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise InputError(f"{path} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    _look_into(path.resolve().parent)
    sys.modules[name] = _IMPORTED[name] = module
    with told(str(path), path.resolve()):
        try:
            spec.loader.exec_module(module)
        except BaseException:
            del sys.modules[name], _IMPORTED[name]
            raise
    return module


def _import_module(name: str) -> types.ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise InputError(f"'{name}' is no module; write FILE.py:NAME or module:NAME")
    _look_into(Path.cwd())
    try:
        found = importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError):
        found = None
    if found is None:
        raise InputError(f"no module '{name}' in this folder or on the Python path")
    with told(name, Path(found.origin) if found.origin else None):
        return importlib.import_module(name)


def _look_into(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@contextmanager
def told(what: str, file: Path | None, ours: bool = True) -> Iterator[None]:
    """Whatever a user's code raises as one sentence, with the last line of their file it went
    through; sentences of bracketz too, unless ``ours`` is False."""
    try:
        yield
    except InputError as error:
        if not ours:
            raise
        raise InputError(f"{_where(what, file, error)}: {error}") from error
    except SyntaxError as error:
        where = f"{Path(error.filename or what).name}, line {error.lineno}"
        raise InputError(f"{where}: {type(error).__name__}: {error.msg}") from error
    except (Exception, SystemExit) as error:
        raise InputError(f"{_where(what, file, error)}: {_said(error)}") from error


def _where(what: str, file: Path | None, error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if file and frame.filename == str(file)]
    return f"{what}, line {lines[-1]}" if lines else what


def _said(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        package = error.name.split(".")[0]
        wanted = f'"bracketz[{EXTRAS[package]}]"' if package in EXTRAS else package
        return f"it needs {package}, which is not installed: pip install {wanted}"
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


# What was found.


def is_pymc(found: Any) -> bool:
    """Whether it is a ``pm.Model``."""
    pymc = sys.modules.get("pymc")
    return pymc is not None and isinstance(found, getattr(pymc, "Model", ()))


def is_function(found: Any) -> bool:
    """Whether it is a function that makes or is a model: also a ``functools.partial``, or an effect
    handler around one."""
    return callable(found) and not isinstance(found, type | Model) and not is_pymc(found)


def made_by(function: Callable, arguments: Mapping[str, Any], place: str) -> Any:
    """The model a function returns; None where it returns none, as NumPyro's functions do.

    Those are run here as well, with random numbers, since nobody can tell before."""
    numpyro = sys.modules.get("numpyro")
    seeded = numpyro.handlers.seed(rng_seed=0) if numpyro else nullcontext()
    quiet = numpyro.handlers.block() if numpyro else nullcontext()
    try:
        with told(place, file_of(function)), quiet, seeded:
            found = function(**arguments)
    except InputError as error:
        if numpyro is not None and not isinstance(error.__cause__, InputError):
            return None  # it may be a model function that needs data: from_numpyro knows better
        raise
    if isinstance(found, Model) or is_pymc(found):
        return found
    if numpyro is None:
        raise InputError(
            f"{place} gave {_article(found)}, which is no model: return a bracketz.Model, or write"
            " a NumPyro function"
        )
    return None


def _article(found: Any) -> str:
    return "None" if found is None else f"a {type(found).__name__}"


def file_of(function: Callable) -> Path | None:
    """The file a function was written in."""
    try:
        return Path(inspect.getsourcefile(inspect.unwrap(function)) or "").resolve()
    except TypeError:
        return None


def refusal(found: Any, name: str) -> InputError:
    """The sentence for what is no model."""
    attribute = name.rpartition(":")[2]
    place = name.rpartition(":")[0]
    return InputError(
        f"'{attribute}' in {place} is {_article(found)}, not a bracketz.Model: name a model, its"
        " class, a function that returns one, a NumPyro function or a pm.Model"
        if not isinstance(found, type)
        else f"'{attribute}' in {place} is not a bracketz.Model class; see docs/extending.md"
    )


def sent_whole() -> None:
    """What was imported from files goes to workers with its code: they have no such modules."""
    import cloudpickle

    for module in _IMPORTED.values():
        cloudpickle.register_pickle_by_value(module)
