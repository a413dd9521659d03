"""The correctness kit: find the bug before it becomes a number (paper, appendix "Testing correctness").

    from bracketz import check

    report = check.run(MyModel(), level="standard")
    assert report.passed, report

Checks run in the order of the appendix, cheap and exact ones first. In pytest, ``check.cases(MyModel())`` gives
one parameter a check.
"""

from bracketz.check.outcome import FAMILY_WISE_RATE, Check, Finding, Kind, NotApplicable, Report, Result
from bracketz.check.runner import LEVEL_NAMES, cases, planned, run

__all__ = [
    "FAMILY_WISE_RATE",
    "LEVEL_NAMES",
    "Check",
    "Finding",
    "Kind",
    "NotApplicable",
    "Report",
    "Result",
    "cases",
    "planned",
    "run",
]
