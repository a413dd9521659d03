"""One look for each estimator, in figures and report alike.

Hues are Okabe and Ito's, distinct to the colour-blind; a pair of mirror images (a lower bound and
its reversal, a method and its correction) shares a hue and differs in line and marker. In grey,
markers, lines and the labels at the curves' ends tell the curves apart.
"""

from dataclasses import dataclass

#: Bounds and truth in every picture: distinct to the colour-blind and in grey.
LOWER, UPPER, TRUTH = "#0072B2", "#D55E00", "#333333"


@dataclass(frozen=True)
class Style:
    """Name as in the paper's legend, colour on white and on black, marker and line for Matplotlib
    and for Plotly."""

    name: str
    colour: str
    dark: str  # the same hue, for a dark background
    marker: str
    symbol: str  # Plotly's name of the marker
    dashed: bool = False

    @property
    def line(self):
        return (0, (4, 1.6)) if self.dashed else "-"


STYLES = {
    "ais": Style("AIS", "#0072B2", "#56A8E0", "o", "circle"),
    "reverse-ais": Style("rev AIS", "#0072B2", "#56A8E0", "o", "circle-open", True),
    "smc": Style("SMC", "#C84E00", "#FF8A3C", "s", "square"),
    "shme": Style("SHME", "#C84E00", "#FF8A3C", "s", "square-open", True),
    "nested": Style("NS", "#222222", "#EEEEEE", "D", "diamond"),
    "vb": Style("VB", "#009E73", "#2FD3A5", "^", "triangle-up", True),
    "vb-sym": Style("VB+sym", "#009E73", "#2FD3A5", "^", "triangle-up-open"),
    "cms": Style("CMS", "#B0408A", "#E58CC5", "v", "triangle-down"),
    "chib": Style("Chib", "#B0408A", "#E58CC5", "v", "triangle-down-open", True),
    "lw": Style("LW", "#7A6A00", "#E0CE45", "P", "cross"),
    "hme": Style("HME", "#7A6A00", "#E0CE45", "P", "cross-open", True),
    "bic": Style("BIC", "#777777", "#AAAAAA", "X", "x"),
}
SPECIAL = {"vb-hint": Style("VB hint", "#006B4E", "#7FE9CB", "*", "star")}
_OTHER = Style("", "#555555", "#BBBBBB", "h", "hexagon")


def style(curve: str, estimator: str) -> Style:
    """The look of a curve: its estimator's, under its own name where the spec gave it one."""
    if curve in SPECIAL:
        return SPECIAL[curve]
    base = STYLES.get(estimator, _OTHER)
    if curve == estimator and base is not _OTHER:
        return base
    return Style(curve, base.colour, base.dark, base.marker, base.symbol, not base.dashed)


def order(curves) -> list[str]:
    """Curves in the order of ``STYLES``, others after them."""
    ranks = {name: i for i, name in enumerate((*STYLES, *SPECIAL))}
    return sorted(curves, key=lambda curve: (ranks.get(curve, len(ranks)), curve))
