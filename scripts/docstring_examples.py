"""For mkdocstrings: our docstrings' "Example:" is what Griffe calls "Examples:"."""

import re
from typing import Any

import griffe


class Examples(griffe.Extension):
    """Renames the section, so that its sessions are shown as code."""

    def on_instance(self, *, obj: griffe.Object, **others: Any) -> None:
        if obj.docstring:
            obj.docstring.value = re.sub(r"(?m)^Example:$", "Examples:", obj.docstring.value)
