"""bracketz checked by itself: the loop, the numbers and the estimators, on probes whose right
answer can be written down, and the sweeps that are one kernel on a graphics card.

Nothing here looks at a user's model; ``bracketz selftest`` runs it.
"""

from bracketz.check.report import Report
from bracketz.check.runner import in_order, verdicts
from bracketz.check.selftest import estimators, loop, numbers, sweeps
from bracketz.check.subject import Subject
from bracketz.engine.session import Session

FAMILIES = (loop, estimators, numbers, sweeps)
CHECKS = in_order(FAMILIES)


def run(
    *,
    level: str = "standard",
    seed: int = 0,
    only: str | None = None,
    keep_going: bool = False,
    session: Session | None = None,
) -> Report:
    """Check bracketz itself.

    Args:
        level: "quick", "standard" or "deep": how much the statistical checks draw.
        seed: everything random follows from it.
        only: a family or one check.
        keep_going: go on after a failure.
        session: who watches the progress.

    Returns:
        Every verdict. A correct installation fails anything with probability at most
        ``FAMILY_WISE_RATE``.

    Raises:
        InputError: an unknown level or check.

    Example:
        >>> import bracketz as bz
        >>> bz.check.selftest.run(only="numbers.averages").passed
        True
    """
    subject = Subject(loop.TrailModel(), (4, 1), level, seed)
    return verdicts("bracketz", CHECKS, subject, only=only, keep_going=keep_going, session=session)
