"""How an experiment stands: counts by model and estimator, failures, and what a run came to."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bracketz.core.results import finite_json
from bracketz.testbed.analysis import ledger, measures
from bracketz.testbed.analysis.ledger import Paper, Verdict
from bracketz.testbed.run.runner import Standing
from bracketz.testbed.store.frames import Frames, read_frames
from bracketz.testbed.store.store import Store

STATES = ("done", "running", "failed", "pending")


def status(
    path: Path, experiment: str | None = None, papers: Mapping[str, Paper] | None = None
) -> dict[str, Any]:
    """What is done, running, failed and still to do. A task whose process died counts as
    pending."""
    frames = read_frames(path, experiment, papers)
    with Store.read(path) as store:
        live = {task: store.status(task) for task in frames.tasks.task.unique()}
    groups: dict[tuple[str, str], dict[str, Any]] = {}
    counted: set[str] = set()
    for row in frames.tasks.itertuples():
        if row.task in counted:
            continue
        counted.add(row.task)
        group = groups.setdefault(
            (row.problem, row.curve),
            {"problem": row.problem, "curve": row.curve, **dict.fromkeys(STATES, 0)},
        )
        group[live[row.task]] += 1
    failures = frames.tasks[frames.tasks.status == "failed"].drop_duplicates("task")
    return finite_json(
        {
            "experiment": frames.experiment["name"],
            "updated": frames.experiment["updated"],
            "tasks": len(live),
            **{state: list(live.values()).count(state) for state in STATES},
            "run_seconds": float(frames.tasks.drop_duplicates("task").run_seconds.sum()),
            "groups": list(groups.values()),
            "failures": [
                {"problem": r.problem, "curve": r.curve, "rung": int(r.rung), "message": r.message}
                for r in failures.itertuples()
            ],
            "truth": measures.truth(frames).to_dict("records"),
            "cross": measures.cross_table(frames).to_dict("records"),
        }
    )


def after_run(
    path: Path, experiment: str, outcome: Standing, papers: Mapping[str, Paper] | None = None
) -> dict[str, Any]:
    """The object of ``experiment run --json``."""
    state = status(path, experiment, papers)
    found = state["truth"]
    return {
        "experiment": experiment,
        "store": str(path),
        "tasks": outcome.total,
        "done": outcome.done,
        "failed": outcome.failed,
        "ran": outcome.ran,
        "seconds": outcome.seconds,
        "truth": found,
        "cross": state["cross"],
        "accepted": bool(found) and all(t["accepted"] for t in found),
        "failures": state["failures"],
    }


def findings(frames: Frames, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What ``reproduce`` ends with: how the claims come out (those about its authors' seconds
    apart), and how accurate each curve gets."""
    summary = measures.summary(frames)
    mine = [v for v in verdicts if not v.claim.about_seconds]
    theirs = [v for v in verdicts if v.claim.about_seconds]
    return finite_json(
        {
            "claims": _tally(mine) | {"about_seconds": _tally(theirs)},
            "story": ledger.story(verdicts, measures.truth(frames)),
            "accuracy": measures.headline(measures.pooled(summary)).to_dict("records"),
        }
    )


#: Keys of the counts, by state of a verdict.
KEYS = {
    "holds": "hold",
    "does not hold": "do_not_hold",
    "within noise": "within_noise",
    "not decided": "not_decided",
    "not run": "not_run",
}


def _tally(verdicts: Sequence[Verdict]) -> dict[str, int]:
    return {KEYS[state]: count for state, count in ledger.counted(verdicts).items()}
