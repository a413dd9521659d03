"""What an experiment leaves on disk: the report, the figures, the tables."""

import json
from pathlib import Path

from bracketz.core.results import finite_json
from bracketz.errors import InputError, NumericalError, unknown
from bracketz.outputs import own_folder, replaced, write_text
from bracketz.testbed.analysis import ledger, measures, provenance
from bracketz.testbed.analysis.firmness import RESAMPLES
from bracketz.testbed.store.frames import Frames

FORMATS = ("csv", "parquet", "both")
#: Files of a report beside its figures.
NUMBERS = (
    "truth.csv",
    "summary.csv",
    "headline.csv",
    "bounds.csv",
    "cross.csv",
    "provenance.json",
    "spec.toml",
    "ledger.json",
    "report.html",
)


def export(frames: Frames, out: Path, format: str, *, force: bool = False) -> list[str]:
    """Every table as CSV (floats with all their digits) and as Parquet."""
    if format not in FORMATS:
        raise unknown("format", format, FORMATS)
    kinds = ("csv", "parquet") if format == "both" else (format,)
    tables = measures.tables(frames)
    files = {(name, kind): out / f"{name}.{kind}" for name in tables for kind in kinds}
    for file in files.values():
        if file.exists() and not force:
            raise InputError(
                f"{file} exists; add `force=True` to overwrite it, or name another folder"
            )
    _folder(out)
    for (name, kind), file in files.items():
        with replaced(file) as partial:
            if kind == "csv":
                tables[name].to_csv(partial, index=False)
            else:
                tables[name].to_parquet(partial, index=False)
    return [str(file) for file in files.values()]


def judged(frames: Frames) -> list[ledger.Verdict]:
    """Every claim of the experiment's paper, decided, with how firm each verdict is."""
    summary = measures.summary(frames)
    if summary.empty:
        raise _nothing_done(frames)
    return ledger.decide(frames, summary, resamples=RESAMPLES)


def write(
    frames: Frames,
    out: Path,
    *,
    force: bool = False,
    verdicts: list[ledger.Verdict] | None = None,
) -> list[str]:
    """report.html, figures/, and the numbers behind them; what an earlier call wrote is replaced,
    and a folder with other files refused, unless ``force``. ``verdicts``: where they are known."""
    from bracketz.plots import curves
    from bracketz.testbed.report import page

    truth = measures.truth(frames)
    summary = measures.summary(frames, truth)
    if summary.empty:
        raise _nothing_done(frames)
    own_folder(out, (*NUMBERS, "figures"), force)
    pool = measures.pooled(summary)
    written = curves.draw(pool, measures.ACCURATE, _folder(out / "figures"))
    if verdicts is None:
        verdicts = judged(frames)
    cross = measures.cross_table(frames)
    numbers = {
        "truth.csv": truth.to_csv(index=False),
        "summary.csv": summary.to_csv(index=False),
        "headline.csv": measures.headline(pool).to_csv(index=False),
        "bounds.csv": measures.bounds(pool).to_csv(index=False),
        "cross.csv": None if cross.empty else cross.to_csv(index=False),
        "provenance.json": json.dumps(provenance.provenance(frames), indent=1),
        "spec.toml": frames.experiment["spec"],
        "ledger.json": json.dumps(finite_json([v.to_json() for v in verdicts]), indent=1)
        if verdicts
        else None,
        "report.html": page.page(frames, truth, summary, verdicts),
    }
    for name in NUMBERS:
        if (text := numbers[name]) is not None:
            write_text(out / name, text)
            written.append(out / name)
    return [str(path) for path in written]


def failed(frames: Frames) -> int:
    """Tasks that failed; every measure leaves them out."""
    return frames.tasks[frames.tasks.status == "failed"].task.nunique()


def _nothing_done(frames: Frames) -> Exception:
    if not failed(frames):
        return InputError("no task of this experiment is done yet; run it first")
    first = frames.tasks[frames.tasks.status == "failed"].iloc[0]
    return NumericalError(
        f"no curve of this experiment is done and {failed(frames)} tasks failed, the first,"
        f" {first.curve} on {first.problem}, with: {first.message}"
    )


def _folder(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path}: {error.strerror}") from None
    return path
