"""``bracketz models``."""

import dataclasses
import sys

from bracketz.cli.options import Json, Seed


def models(seed: Seed = 0, json: Json = False) -> None:
    """List the models and their hyperparameters."""
    from bracketz.cli import tables
    from bracketz.data.identity import described, hyperparameters
    from bracketz.models.registry import INFERRED, SHIPPED

    listed = []
    for name, cls in SHIPPED.items():
        text = cls.__doc__ if name in INFERRED else sys.modules[cls.__module__].__doc__
        summary = " ".join((text or "").split("\n\n")[0].split())
        listed.append(
            {
                "name": name,
                "summary": summary.partition(". ")[0].removesuffix(".") + ".",
                "defaults": {
                    f.name: f.default.__name__ if callable(f.default) else f.default
                    for f in dataclasses.fields(cls)
                    if f.init
                },
                "values": described(hyperparameters(cls())),
            }
        )
    if json:
        tables.print_json({"models": listed})
    else:
        tables.print_models(listed)
