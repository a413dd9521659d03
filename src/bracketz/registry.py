"""Names to classes: models and estimators, as the command line, specs and answers call them."""

from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TypeVar

from bracketz.errors import unknown

T = TypeVar("T", bound=type)


class Registry(Mapping[str, T]):
    """Classes by their ``name``, in the order given.

    Example:
        >>> from bracketz.estimators.registry import ESTIMATORS
        >>> ESTIMATORS.find("ais").__name__
        'AIS'
    """

    def __init__(self, kind: str, classes: Sequence[T]):
        self.kind = kind
        # What is listed has a name, though ``Model`` asks for none.
        self._classes: dict[str, T] = {cls.name: cls for cls in classes}  # type: ignore[attr-defined]

    def __getitem__(self, name: str) -> T:
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._classes)

    def __len__(self) -> int:
        return len(self._classes)

    def find(self, name: str) -> T:
        """The class behind ``name``; an unknown name is an ``InputError`` with a suggestion."""
        if name not in self:
            raise unknown(self.kind, name, self)
        return self[name]

    def name_of(self, cls: type) -> str | None:
        """What this very class is called here; a subclass of it is not called so."""
        return next((name for name, other in self.items() if other is cls), None)


def classes_of(package: ModuleType) -> list[type]:
    """The classes a package imports, in the order it imports them."""
    return [cls for cls in vars(package).values() if isinstance(cls, type)]
