"""How answers say their numbers."""

import pytest

from bracketz.core.results import percent, plus_minus


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


@pytest.mark.parametrize("error", [1e-12, 0.004, 0.2, 3.0, 40.0])
def test_error_bars_are_never_zero(error):
    assert float(plus_minus(error).removeprefix("± ")) > 0


def test_no_error_bar_is_said():
    assert plus_minus(float("inf")) == plus_minus(0.0) == "(no error bar)"
