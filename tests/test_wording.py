"""How answers say their confidences; error bars are in tests/cli/test_screen.py."""

import pytest

from bracketz.wording import percent


@pytest.mark.parametrize(
    ("probability", "text"),
    [
        (0.5, "50%"),
        (0.9, "90%"),
        (1 - 0.05, "95%"),
        (0.975, "97.5%"),
        (0.999, "99.9%"),
        (1 - 1e-9, "99.9999999%"),
        (0.01, "1%"),
        (0.004, "0.4%"),
        (1.0, "100%"),
        (0.0, "0%"),
    ],
)
def test_percent_is_never_rounded_to_certainty(probability, text):
    assert percent(probability) == text
