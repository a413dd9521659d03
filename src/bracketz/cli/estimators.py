"""``bracketz estimators``."""

import dataclasses

from bracketz.cli.options import Json, Seed


def estimators(seed: Seed = 0, json: Json = False) -> None:
    """List the estimators, their knobs, and which runs on which model."""
    import numpy as np

    from bracketz.cli import tables
    from bracketz.data.dataset import Data
    from bracketz.estimators.registry import ESTIMATORS
    from bracketz.models.registry import MODELS

    simulated = Data(np.zeros((1, 1)), exact=())
    listed = []
    for name, cls in ESTIMATORS.items():
        estimator = cls()
        fields = dataclasses.fields(cls)
        listed.append(
            {
                "name": name,
                "side": str(estimator.side(simulated)),
                "needs_exact_sample": estimator.needs_exact_sample,
                "knob": estimator.knob,
                "knobs": {f.name.replace("_", "-"): f.default for f in fields},
                "models": {
                    m: estimator.refusal(c, simulated=True) is None for m, c in MODELS.items()
                },
            }
        )
    if json:
        tables.print_json({"estimators": listed})
    else:
        tables.print_estimators(listed, list(MODELS))
