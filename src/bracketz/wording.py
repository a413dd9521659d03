"""Numbers in words: error bars that are never 0, confidences that are never certainty."""

import math


def plus_minus(error: float) -> str:
    """An error bar in words: never 0, and said where there is none."""
    if not 0 < error < math.inf:
        return "(no error bar)"
    if error >= 1:
        return f"± {error:.1f}" if error < 10 else f"± {error:.0f}"
    return f"± {error:.2f}" if error >= 0.1 else f"± {error:.1g}"


def percent(probability: float) -> str:
    """A confidence or a rate in percent, never rounded to certainty.

    Example:
        >>> from bracketz.wording import percent
        >>> percent(0.9), percent(0.999), percent(0.004)
        ('90%', '99.9%', '0.4%')
    """
    allowed = 0.01 * min(probability, 1 - probability)
    texts = (f"{100 * probability:.{digits}f}" for digits in range(16))
    return next(t for t in texts if abs(float(t) / 100 - probability) <= allowed + 1e-16) + "%"
