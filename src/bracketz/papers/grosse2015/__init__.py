"""Grosse, Ghahramani and Adams (2015): the specs, its claims, and the numbers it prints."""

from pathlib import Path

from bracketz.papers.grosse2015.claims import CLAIMS
from bracketz.papers.grosse2015.printed import CROSS
from bracketz.papers.grosse2015.reasons import explanations
from bracketz.testbed.analysis.ledger import Paper

PAPER = Paper(
    "grosse2015",
    {preset: Path(__file__).parent / f"{preset}.toml" for preset in ("quick", "full", "clear")},
    CLAIMS,
    CROSS,
    explanations,
    unfitted=frozenset({"clear"}),
)
