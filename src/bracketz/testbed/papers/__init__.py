"""Papers whose experiments are shipped as specs: ``papers/NAME/PRESET.toml`` in this folder."""

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
