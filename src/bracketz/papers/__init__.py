"""Papers whose experiments and claims are shipped: a folder each, and a line here."""

from pathlib import Path

from bracketz.errors import unknown
from bracketz.papers import grosse2015
from bracketz.testbed.analysis.ledger import Paper

PAPERS: dict[str, Paper] = {paper.name: paper for paper in (grosse2015.PAPER,)}


def find(name: str) -> Paper:
    """The paper of this name; an unknown one is an ``InputError`` with a suggestion."""
    if name not in PAPERS:
        raise unknown("paper", name, PAPERS)
    return PAPERS[name]


def spec_file(paper: str, preset: str) -> Path:
    """Where a shipped spec lies in the installed package."""
    presets = find(paper).presets
    if preset not in presets:
        raise unknown("preset", preset, presets)
    return presets[preset]
