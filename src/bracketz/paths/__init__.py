"""Paths from the prior to the posterior; one file each."""

from bracketz.paths.prefix import Prefix
from bracketz.paths.schedules import Adapted, Linear, Schedule, Sigmoid, schedule_named
from bracketz.paths.tempered import Tempered

#: By shorthand, as on the command line.
PATHS = {cls.name: cls for cls in (Tempered, Prefix)}

__all__ = [
    "PATHS",
    "Adapted",
    "Linear",
    "Prefix",
    "Schedule",
    "Sigmoid",
    "Tempered",
    "schedule_named",
]
