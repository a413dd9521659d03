"""Papers whose experiments are shipped as specs: ``papers/NAME/PRESET.toml`` in this folder."""

import importlib
from pathlib import Path

from bracketz.errors import unknown

#: Paper -> its presets.
PAPERS = {"grosse2015": ("quick", "full")}


def spec_file(paper: str, preset: str) -> Path:
    """Where a shipped spec lies in the installed package."""
    if paper not in PAPERS:
        raise unknown("paper", paper, PAPERS)
    if preset not in PAPERS[paper]:
        raise unknown("preset", preset, PAPERS[paper])
    return Path(__file__).parent / paper / f"{preset}.toml"


def printed_cross(paper: str | None) -> dict[str, dict[str, float]]:
    """The cross-model table a paper prints: log-ML by label of the model that made the data and of the fit."""
    if paper not in PAPERS:
        return {}
    return importlib.import_module(f"{__name__}.{paper}.printed").CROSS
