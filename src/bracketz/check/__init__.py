"""The correctness kit: find the bug before it becomes a number (paper, appendix "Testing
correctness").

    import bracketz as bz

    report = bz.check.run(MyModel(), level="standard")
    assert report.passed, report

Checks run in the order of the appendix, cheap and exact ones first; each family is a file here. In
pytest, ``check.cases(MyModel())`` gives one parameter per check. ``check.selftest.run()`` checks
bracketz itself.
"""

from bracketz.check import selftest
from bracketz.check.report import (
    FAMILY_WISE_RATE,
    TOLERANCE,
    Check,
    CheckResult,
    Discrepancy,
    Finding,
    Kind,
    NotApplicable,
    Report,
    worst,
)
from bracketz.check.runner import LEVEL_NAMES, cases, planned, run
from bracketz.check.subject import Subject

__all__ = [
    "FAMILY_WISE_RATE",
    "LEVEL_NAMES",
    "TOLERANCE",
    "Check",
    "CheckResult",
    "Discrepancy",
    "Finding",
    "Kind",
    "NotApplicable",
    "Report",
    "Subject",
    "cases",
    "planned",
    "run",
    "selftest",
    "worst",
]
