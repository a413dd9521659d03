"""Where compiled programs are kept between runs."""

import os
from pathlib import Path


def cache_folder() -> Path:
    """``BRACKETZ_CACHE``, or bracketz's part of the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get("BRACKETZ_CACHE") or Path(base) / "bracketz")
