"""``bracketz estimators``."""

import dataclasses
from typing import Any

from bracketz.cli.options import Json, Seed


def estimators(seed: Seed = 0, json: Json = False) -> None:
    """List the estimators: names, side, cost, knobs, and the models they do not run on."""
    from bracketz.cli import tables

    listed = listing()
    if json:
        tables.print_json({"estimators": listed})
    else:
        tables.print_estimators(listed)
        tables.print_knobs(listed)


def listing() -> list[dict[str, Any]]:
    """What the classes say of themselves."""
    import numpy as np

    from bracketz.data.dataset import Data
    from bracketz.estimators.registry import ESTIMATORS
    from bracketz.models.registry import SHIPPED

    observed, simulated = Data(np.zeros((1, 1))), Data(np.zeros((1, 1)), exact=())
    listed = []
    for name, cls in ESTIMATORS.items():
        estimator = cls()
        fields = dataclasses.fields(cls)
        listed.append(
            {
                "name": name,
                "full_name": estimator.full_name or name,
                "side": str(estimator.side(simulated)),
                "side_observed": None
                if estimator.needs_exact_sample
                else str(estimator.side(observed)),
                "needs_exact_sample": estimator.needs_exact_sample,
                "cost": estimator.cost,
                "knob": estimator.knob,
                "knobs": {f.name.replace("_", "-"): f.default for f in fields},
                "models": {
                    m: estimator.refusal(c, simulated=True) is None for m, c in SHIPPED.items()
                },
            }
        )
    return listed
