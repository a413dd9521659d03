"""Names to classes, imported when asked for."""

import importlib
from typing import Any

from bracketz.errors import unknown


def load(kind: str, name: str, registry: dict[str, str]) -> Any:
    """The class behind ``name``; an unknown name is an ``InputError`` with a suggestion."""
    if name not in registry:
        raise unknown(kind, name, registry)
    module, _, attribute = registry[name].partition(":")
    return getattr(importlib.import_module(module), attribute)
