"""Numbers the paper prints that are shown beside ours."""

from typing import NamedTuple


class Headline(NamedTuple):
    """An accuracy and the time it took."""

    rmse: float  # nats, of one trial
    seconds: float


#: Its section "Results", by model and estimator.
HEADLINES = {
    ("clustering", "smc"): Headline(4.6, 9.7),
    ("clustering", "ais"): Headline(7.0, 37.8),
    ("clustering", "nested"): Headline(5.7, 51.2),
    ("low-rank", "ais"): Headline(8.6, 1.6),
    ("binary-attributes", "ais"): Headline(7.5, 16.5 * 60),
    ("binary-attributes", "nested"): Headline(9.0, 15.1 * 60),
    ("binary-attributes", "smc"): Headline(4.7, 69.0 * 60),
}

#: Steps of nested sampling with 5 transitions per step and 2 particles (section "Results").
NESTED_STEPS = {"clustering": 208, "low-rank": 904, "binary-attributes": 404}

#: Its table in "How much accuracy is required?": log evidence by AIS with 30,000 distributions, by
#: the model that made the data and the model fitted, under their labels in the specs here.
CROSS = {
    "clustering": {
        "inferred-clustering": -2377.5,
        "inferred-low-rank": -2390.6,
        "inferred-binary-attributes": -2383.2,
    },
    "low-rank": {
        "inferred-clustering": -2214.2,
        "inferred-low-rank": -2145.1,
        "inferred-binary-attributes": -2171.4,
    },
    "binary-attributes": {
        "inferred-clustering": -2268.6,
        "inferred-low-rank": -2241.7,
        "inferred-binary-attributes": -2219.4,
    },
}
