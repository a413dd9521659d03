"""``bracketz reproduce``: a paper's figures and claims."""

from pathlib import Path
from typing import Annotated

import typer

from bracketz.cli.experiment import SpecSeed, print_answer, run_and_sum_up
from bracketz.cli.names import one_of
from bracketz.cli.options import Json, Scheduler, Workers
from bracketz.outputs import own_folder


def reproduce(
    paper: Annotated[
        str, typer.Argument(metavar="PAPER", help="grosse2015", autocompletion=one_of("grosse2015"))
    ],
    out: Annotated[Path, typer.Option(help="Folder for the store, the figures and the report.")],
    preset: Annotated[
        str,
        typer.Option(
            help="quick (minutes), full (the paper's size), or clear (full, on clearer data).",
            autocompletion=one_of("quick", "full", "clear"),
        ),
    ] = "quick",
    workers: Workers = None,
    scheduler: Scheduler = None,
    force: Annotated[
        bool, typer.Option("--force", help="Overwrite files of --out that are not bracketz's.")
    ] = False,
    seed: SpecSeed = None,
    json: Json = False,
) -> None:
    """Every figure and claim of a paper, in one command; run it again to continue.

    [dim]bracketz reproduce grosse2015 --preset quick --out out/[/dim]
    """
    from bracketz.cli.progress import waiting
    from bracketz.papers import PAPERS, spec_file
    from bracketz.testbed.analysis.status import findings
    from bracketz.testbed.report.output import NUMBERS, judged, write
    from bracketz.testbed.spec.experiment import read
    from bracketz.testbed.store.frames import read_frames

    chosen = read(spec_file(paper, preset)).with_seed(seed)
    store = out / "results.db"
    own_folder(out, NUMBERS, force=force or store.exists())
    answer = run_and_sum_up(chosen, store, workers, scheduler, quiet=json)
    with waiting("deciding the claims and drawing the figures", json):
        frames = read_frames(store, chosen.name, PAPERS)
        verdicts = judged(frames)
        answer["files"] = write(frames, out, verdicts=verdicts)
        answer |= findings(frames, verdicts) | {"report": str(out / "report.html")}
    print_answer(answer, json)
    raise typer.Exit(0 if answer["accepted"] and not answer["failed"] else 1)
