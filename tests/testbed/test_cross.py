"""Models fitted to the data of others: the section of the spec, the runs, the table, and that
nothing else changes."""

import dataclasses
import json
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from small_experiment import CROSSED, SMALL, values
from test_measures import TRUTH, made_up

from bracketz import (
    AIS,
    Clustering,
    InferredClustering,
    InferredLowRank,
    LowRank,
    estimate,
    simulate,
)
from bracketz.cli import experiment_tables as show_experiment
from bracketz.errors import InputError
from bracketz.papers import PAPERS
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import measures
from bracketz.testbed.analysis import status as progress_report
from bracketz.testbed.report.output import export, write
from bracketz.testbed.report.tables import number
from bracketz.testbed.run.runner import run_experiment
from bracketz.testbed.spec import tasks
from bracketz.testbed.spec.experiment import parse, read
from bracketz.testbed.spec.tasks import Task, expand
from bracketz.testbed.store.store import Store

DATA_SETS = [("clustering", 0), ("rank one", 0), ("rank one", 7)]
FITS = ["inferred-clustering", "inferred rank"]


@pytest.fixture(scope="module", autouse=True)
def short_pilots_of_hyperparameters():
    """For the module's own store too: longer ones are of little use here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("bracketz.models.hyper_pilot.SWEEPS", 20)
        patch.setattr("bracketz.models.hyper_pilot.DISTRIBUTIONS", 24)
        yield


@pytest.fixture(scope="module")
def crossed(small_store, tmp_path_factory):
    """The small experiment with fits: a finished store goes on where it stands."""
    path = tmp_path_factory.mktemp("cross") / "results.db"
    path.write_bytes(small_store.read_bytes())
    with Store.open(path) as store:
        outcome = run_experiment(parse(CROSSED), store)
    assert outcome.complete and outcome.ran == 6
    return path


@pytest.mark.parametrize(
    "old, new, names",
    [
        ("distributions = 20", "", "cross.distributions is missing"),
        ("distributions = 20", "distributions = 1", "cross: distributions must be at least 2"),
        ("distributions = 20", "distributions = 20\nrungs = 3", "unknown key 'cross.rungs'"),
        (
            "distributions = 20",
            "distributions = 20\nestimator = 'asi'",
            "unknown estimator 'asi'; did you mean 'ais'?",
        ),
        (
            "distributions = 20",
            "distributions = 20\nestimator = 'reverse-ais'",
            "an exact posterior sample, which observed data",
        ),
        (
            "distributions = 20",
            "restarts = 1\nestimator = 'vb'",
            "cross.fits[0]: vb cannot run on InferredClustering",
        ),
        (
            "distributions = 20",
            "transitions = 20\nestimator = 'ais'",
            "cross.distributions is missing",
        ),
        (
            "distributions = 20",
            "distributions = 20\nknobs = {distributions = 3}",
            "is set by cross itself",
        ),
        (
            "distributions = 20",
            "distributions = 20\nknobs = {speed = 3}",
            "unknown knob of ais 'speed'",
        ),
        ("trials = 10", "trials = 1", "cross.trials must be from 2"),
        (
            "distributions = 20",
            "distributions = 20\nshorter = 20",
            "cross.shorter must be below distributions, 20; got 20",
        ),
        (
            'model = "inferred-clustering"',
            'model = "inferred-clustring"',
            "did you mean 'inferred-clustering'?",
        ),
        ('model = "inferred-clustering", hyper', "hyper", "cross.fits[0].model is missing"),
        (
            "noise_shape = 2.0",
            "noise_shape = -2.0",
            "cross.fits[1].hyperparameters: noise_shape must be a positive number",
        ),
        ("noise_shape = 2.0", "noise = 2.0", "unknown hyperparameter of inferred-low-rank 'noise'"),
        (
            'label = "inferred rank"',
            'label = "inferred-clustering"',
            "two cross.fits are called 'inferred-clustering'",
        ),
        ('label = "inferred rank"', 'name = "x"', "unknown key 'cross.fits[1].name'"),
        ("[cross]", "[cros]", "unknown key 'cros'; did you mean 'cross'?"),
    ],
)
def test_refusals_name_the_key_and_the_way_out(old, new, names):
    head, tail = CROSSED[: len(SMALL)], CROSSED[len(SMALL) :]
    assert old in tail
    with pytest.raises(InputError, match=re.escape(names)) as refused:
        parse(head + tail.replace(old, new, 1), "spec.toml")
    assert str(refused.value).startswith("spec.toml") and "\n" not in str(refused.value)


def test_a_shorter_run_of_each_fit_comes_before_the_longer():
    spec = parse(CROSSED.replace("distributions = 20", "distributions = 20\nshorter = 5", 1))
    fits = [entry for entry in expand(spec) if entry.role == "cross"]
    assert [entry.task.rung for entry in fits] == [5, 20] * (len(fits) // 2)
    plain = [entry.task.id for entry in expand(parse(CROSSED)) if entry.role == "cross"]
    assert [entry.task.id for entry in fits[1::2]] == plain


@pytest.mark.parametrize(
    "fits", ["[]", "'inferred-clustering'", "3", "{}", "[3]", "[[]]", "['']", "[{model = 3}]"]
)
def test_fits_are_a_list_of_models(fits):
    with pytest.raises(InputError, match=r"cross\.fits"):
        parse(f"{SMALL}\n[cross]\ndistributions = 20\nfits = {fits}")
    for value in ("3", "[]"):
        with pytest.raises(InputError, match="cross must be a table"):
            parse(f"cross = {value}\n{SMALL}")


def test_a_fit_may_be_just_a_name():
    spec = parse(f"{SMALL}\n[cross]\ndistributions = 20\nfits = ['inferred-clustering']")
    assert spec.cross.trials == spec.trials and spec.cross.fits[0].label == "inferred-clustering"


def test_tasks_of_a_spec_are_what_they_were_before_there_were_fits(monkeypatch):
    """The ids of a spec of then, under that version: finished stores stay finished."""
    monkeypatch.setattr(tasks, "__version__", "0.1.0")
    before = Path(__file__).with_name("quick_tasks.txt").read_text().split()
    entries = expand(read(Path(__file__).with_name("quick_before.toml")))
    assert sorted({e.task.id for e in entries if e.role != "cross"}) == before
    assert len([e for e in entries if e.role == "cross"]) == 9


def test_fits_are_tasks_of_their_own():
    plain, entries = expand(parse(SMALL)), expand(parse(CROSSED))
    assert entries[: len(plain)] == plain
    fits = entries[len(plain) :]
    assert [(e.problem, e.task.data_seed, e.label) for e in fits] == [
        (*d, f) for f in FITS for d in DATA_SETS
    ]
    assert len({e.task.id for e in entries}) == len({e.task.id for e in plain}) + 6
    assert len({e.task.program for e in fits}) == 2  # compiled once a fit, whatever the data
    assert all(Task.from_json(e.task.to_json()) == e.task for e in fits)
    other = expand(parse(CROSSED.replace("noise_variance = 0.5", "noise_variance = 0.6")))
    changed = {e.task.id for e in fits} - {e.task.id for e in other}
    assert changed == {e.task.id for e in fits if e.problem == "rank one"}  # other data, other task


def test_the_table_is_what_estimate_gives_on_the_observations(crossed):
    frames = read_frames(crossed)
    table = measures.cross_table(frames)
    assert list(zip(table.problem, table.data_seed, table.fit, strict=True)) == [
        (*d, f) for d in DATA_SETS for f in FITS
    ]
    makers = {"clustering": Clustering(2), "rank one": LowRank(1, noise_variance=0.5)}
    models = {FITS[0]: InferredClustering(2), FITS[1]: InferredLowRank(1, noise_shape=2.0)}
    seeds = (
        frames.tasks[frames.tasks.role == "cross"].set_index(["problem", "data_seed", "curve"]).seed
    )
    for row in table.itertuples():
        y = simulate(makers[row.problem], 6, 2, seed=row.data_seed).y
        seed = int(seeds[row.problem, row.data_seed, row.fit])
        direct = estimate(models[row.fit], y, AIS(20), trials=10, seed=seed)
        assert (row.log_ml, row.standard_error, row.side) == (
            direct.log_ml,
            direct.standard_error,
            "lower",
        )
        assert row.true == (row.problem.startswith("clus") == row.fit.startswith("inferred-clus"))


def test_differences_by_hand():
    scores = {"inferred-m": [-10.0, -10.0], "inferred-a": [-7.0, -7.0], "b": [-30.0, -28.0]}
    rows = [("m", 0, fit, "ais", 50, "cross", 1.0, v) for fit, v in scores.items()]
    table = measures.cross_table(made_up(rows))
    combined = math.log((math.exp(-30) + math.exp(-28)) / 2)
    np.testing.assert_allclose(table.log_ml, [-10, -7, combined])
    np.testing.assert_allclose(table.behind, [0, -3, -10 - combined])
    assert table.true.tolist() == [True, False, False] and table.best.tolist() == [
        False,
        True,
        False,
    ]
    assert table.paper.isna().all() and table.standard_error[0] == 0.5 < table.standard_error[2]
    table = measures.cross_table(made_up(rows[1:]))  # nobody fitted the true model
    np.testing.assert_allclose(table.behind, [0, -7 - combined])


def test_the_papers_differences_are_those_it_prints():
    rows = [
        (problem, 0, fit, "ais", 50, "cross", 1.0, [-1.0, -1.0])
        for problem, fits in PAPERS["grosse2015"].printed_cross.items()
        for fit in fits
    ]
    table = measures.cross_table(made_up(rows))
    behind = [0, 13.1, 5.7, 69.1, 0, 26.3, 49.2, 22.3, 0]
    np.testing.assert_allclose(table.paper_behind, behind, atol=1e-9)
    assert table.true.tolist() == [b == 0 for b in behind]
    assert measures.cross_table(dataclasses.replace(made_up(rows), paper=None)).paper.isna().all()


def test_fits_enter_no_other_measure(small_store, crossed):
    assert set(values(small_store)) < set(values(crossed))
    with_fits, without = read_frames(crossed), read_frames(small_store)
    pd.testing.assert_frame_equal(measures.truth(with_fits), measures.truth(without))
    pd.testing.assert_frame_equal(measures.summary(with_fits), measures.summary(without))
    # Even where a fit is called like a curve.
    rows = [*TRUTH, ("m", 0, "lw", "lw", 5, "curve", 1.0, [-12, -14])]
    fit = ("m", 0, "lw", "ais", 5, "cross", 1.0, [-99, -99, -99])
    found = [measures.summary(made_up(r)) for r in (rows, [*rows, fit])]
    pd.testing.assert_frame_equal(*found)


def test_the_report_and_the_tables_show_it(
    crossed, small_store, tmp_path, capsys, monkeypatch, without_figures
):
    table = measures.cross_table(read_frames(crossed))
    files = write(read_frames(crossed), tmp_path / "out")
    assert str(tmp_path / "out" / "cross.csv") in files
    assert pd.read_csv(tmp_path / "out" / "cross.csv").log_ml.tolist() == table.log_ml.tolist()
    page = (
        (tmp_path / "out" / "report.html")
        .read_text()
        .split('<section id="cross">')[1]
        .split("</section>")[0]
    )
    for row in table.itertuples():
        behind = "" if row.true else f" ({number(row.behind, 1)})"
        assert f">{number(row.log_ml, 1)}{behind}<" in page
    assert (
        page.count('class="first"') == 3
        and "AIS with 20 distributions, 10 trials combined: lower bounds" in page
    )
    assert "paper" not in page  # the experiment has none
    assert len(export(read_frames(crossed), tmp_path / "tables", "csv")) == 6
    state = progress_report.status(crossed)
    assert [c["log_ml"] for c in state["cross"]] == table.log_ml.tolist() and json.dumps(state)
    monkeypatch.setattr(show_experiment, "Console", lambda: Console(width=120))
    show_experiment.print_status(state)
    shown = capsys.readouterr().out
    for row in table.itertuples():
        assert f"{row.log_ml:.1f}" + ("" if row.true else f" ({row.behind:.1f})") in shown
    # Without fits: no section, no file.
    files = write(read_frames(small_store), tmp_path / "plain")
    assert not any("cross" in Path(file).name for file in files)
    assert 'id="cross"' not in (tmp_path / "plain" / "report.html").read_text()


def test_the_papers_values_stand_beside_ours(tmp_path, capsys, monkeypatch, without_figures):
    spec = (
        SMALL.replace("seed = 3", 'seed = 3\npaper = "grosse2015"').replace(
            "ladder = [10, 30, 300]", "ladder = [10]"
        )
        + "[cross]\ndistributions = 20\ntrials = 10\nfits = [{ model = 'inferred-low-rank',"
        " hyperparameters = { components = 1, noise_shape = 2.0 } }]"
    )
    path = tmp_path / "r.db"
    with Store.open(path, create=True) as store:
        assert run_experiment(parse(spec), store).complete
    write(read_frames(path, papers=PAPERS), tmp_path / "out")
    text = (tmp_path / "out" / "report.html").read_text()
    assert "paper −2390.6 (13.1)" in text and "compare differences" in text
    ledger = {c["id"]: c for c in json.loads((tmp_path / "out" / "ledger.json").read_text())}
    assert (
        ledger["clustering-data-true-model-wins"]["ours"]
        == "not run: all three models fitted to clustering data"
    )
    monkeypatch.setattr(show_experiment, "Console", lambda: Console(width=120))
    show_experiment.print_status(progress_report.status(path, papers=PAPERS))
    assert re.search(r"paper +-2390.6 \(13.1\)", capsys.readouterr().out)
