"""Measures against numbers worked out by hand, and the ledger on made-up results."""

import dataclasses
import json
import math

import numpy as np
import pandas as pd
import pytest

from bracketz.papers import PAPERS
from bracketz.plots.curves import estimates
from bracketz.testbed import read_frames
from bracketz.testbed.analysis import firmness, ledger, measures
from bracketz.testbed.store.frames import Frames


def made_up(rows, details=(), agree=1.0) -> Frames:
    """Frames from (problem, data seed, curve, estimator, rung, role, seconds, values)."""
    from bracketz.cli.parsing import make_estimator

    tasks, trials, extra = [], [], []
    sides = {
        "ais": "lower",
        "smc": "lower",
        "lw": "lower",
        "vb": "lower",
        "cms": "lower",
        "reverse-ais": "upper",
        "shme": "upper",
        "hme": "upper",
    }
    for problem, seed, curve, estimator, rung, role, seconds, values in rows:
        task = f"{problem}{seed}{curve}{rung}{len(values)}"
        knob = make_estimator(estimator, []).knob
        entry = {
            "task": task,
            "problem": problem,
            "curve": curve,
            "role": role,
            "data_seed": seed,
            "estimator": estimator,
            "rung": rung,
        }
        tasks.append(
            entry
            | {
                "knob": knob,
                "trials": len(values),
                "status": "done",
                "side": sides.get(estimator, "none"),
            }
            | {"seconds": seconds, "model": curve if role == "cross" else problem}
            | {"content": json.dumps({"settings": {knob: rung}, "made_by": {"model": problem}})}
        )
        trials += [entry | {"trial": i, "log_ml": float(v)} for i, v in enumerate(values)]
        extra += [
            entry | {"trial": 0, "name": n, "value": v}
            for p, c, r, n, v in details
            if (p, c, r) == (problem, curve, rung)
        ]
    columns = [*entry, "trial", "name", "value"]
    experiment = {"name": "made up", "agree_within": agree, "paper": "grosse2015"}
    tables = pd.DataFrame(tasks), pd.DataFrame(trials), pd.DataFrame(extra, columns=columns)
    return Frames(experiment, *tables, PAPERS["grosse2015"])


CLAIMS = PAPERS["grosse2015"].claims


TRUTH = [
    ("m", 0, "ais", "ais", 100, "truth", 1.0, [-10.5] * 4),
    ("m", 0, "reverse-ais", "reverse-ais", 100, "truth", 1.0, [-9.5] * 4),
]


def test_truth_is_the_average_and_accepted_only_if_both_agree():
    (row,) = measures.truth(made_up(TRUTH)).itertuples()
    assert (row.log_ml, row.lower, row.upper, row.gap, row.accepted) == (
        -10.0,
        -10.5,
        -9.5,
        1.0,
        True,
    )
    (row,) = measures.truth(made_up(TRUTH, agree=0.99)).itertuples()
    assert not row.accepted
    table = measures.summary(
        made_up([*TRUTH, ("m", 0, "lw", "lw", 5, "curve", 1.0, [-12, -14])], agree=0.99)
    )
    assert math.isnan(table.rmse[0]) and table["mean"][0] == -13


def test_scores_by_hand():
    rows = [*TRUTH, ("m", 0, "lw", "lw", 5, "curve", 0.25, [-12, -14, -6, -12])]
    (row,) = measures.summary(made_up(rows)).itertuples()
    assert (
        row.mean == -11
        and row.bias == -1
        and row.mse == (4 + 16 + 16 + 4) / 4
        and row.rmse == math.sqrt(10)
    )
    spread = np.std([-12, -14, -6, -12], ddof=1)
    np.testing.assert_allclose(row.mean_high - row.mean, 3.182446305284263 * spread / 2)
    combined = math.log((2 * math.exp(-12) + math.exp(-14) + math.exp(-6)) / 4)
    np.testing.assert_allclose([row.combined, row.combined_mse], [combined, (combined + 10) ** 2])
    assert row.seconds == 0.25 and row.coverage == 0.75  # -6 is beyond -10 by more than log 20


def test_the_runs_behind_the_truth_get_no_error():
    rows = [(*r[:5], "curve", *r[6:]) for r in TRUTH] + TRUTH
    table = measures.summary(made_up(rows))
    assert table.makes_truth.all() and table[["bias", "mse", "rmse", "combined_error"]].isna().all(
        axis=None
    )
    assert table["mean"].tolist() == [-10.5, -9.5]
    assert table.jeffreys[0] == 1.0 and math.isnan(
        table.jeffreys[1]
    )  # mean reverse less mean forward


def test_resampled_particles_have_no_jeffreys_bound():
    """Several particles up and down are not each other's reversal; a single one is."""
    pair = [
        ("m", 0, "smc", "smc", 5, "curve", 1.0, [-12.0, -14.0]),
        ("m", 0, "shme", "shme", 5, "curve", 1.0, [-8.0, -9.0]),
    ]
    frames = made_up([*TRUTH, *pair])
    assert measures.summary(frames).jeffreys[0] == 4.5
    for j, text in frames.tasks.content.items():
        content = json.loads(text)
        content["settings"]["particles"] = 3
        frames.tasks.loc[j, "content"] = json.dumps(content)
    assert measures.summary(frames).jeffreys.isna().all()


def test_no_error_bar_is_infinite_and_draws_no_band():
    """Reverse trials share the exact sample; the page has no band there, and nothing is NaN."""
    rows = [
        ("m", seed, name, name, 5, "curve", 1.0, [-12.0, -14.0])
        for seed in (0, 1)
        for name in ("ais", "reverse-ais")
    ]
    table = measures.summary(made_up([*TRUTH, *rows]))
    pool = measures.pooled(table)
    for found in (table, pool):
        shared = found[found.estimator == "reverse-ais"].combined_se
        assert np.all(np.isposinf(shared)) and shared.notna().all()
        assert np.isfinite(found[found.estimator == "ais"].combined_se).all()
    figure = estimates(pool, "combined", zoom=False)
    assert np.isfinite(figure.axes[0].dataLim.get_points()).all()


def test_pooling_over_data_sets():
    other = [(r[0], 1, *r[2:7], [v + 90 for v in r[7]]) for r in TRUTH]
    rows = [
        *TRUTH,
        *other,
        ("m", 0, "lw", "lw", 5, "curve", 1.0, [-13, -13]),
        ("m", 1, "lw", "lw", 5, "curve", 3.0, [79, 79]),
    ]
    (row,) = measures.pooled(measures.summary(made_up(rows))).itertuples()
    assert (row.data_sets, row.truth, row.mean, row.bias, row.mse, row.seconds) == (
        2,
        0.0,
        -2.0,
        -2.0,
        5.0,
        2.0,
    )


def test_a_data_set_not_yet_run_or_without_truth_does_not_mix_values_and_errors():
    other = [(r[0], 1, *r[2:7], [v + 90 for v in r[7]]) for r in TRUTH]
    rows = [
        *TRUTH,
        *other,
        ("m", 0, "lw", "lw", 5, "curve", 1.0, [-13, -13]),
        ("m", 1, "lw", "lw", 5, "curve", 3.0, [79, 79]),
    ]
    half_run = [*rows, ("m", 0, "lw", "lw", 9, "curve", 5.0, [-11, -11])]
    pool = measures.pooled(measures.summary(made_up(half_run)))
    assert (
        pool["mean"].tolist() == [-2.0, -1.0]
        and pool.data_sets.tolist() == [2, 1]
        and pool.errors.all()
    )
    without = [
        (*r[:7], [v + (7 if r[2] == "ais" and r[1] == 1 else 0) for v in r[7]]) for r in rows
    ]
    (row,) = measures.pooled(measures.summary(made_up(without))).itertuples()
    assert (row.mean, row.rmse, row.data_sets, row.errors) == (-3.0, 3.0, 1, True)


def test_headline_finds_the_first_accurate_rung():
    values = {1: 40.0, 2: 9.0, 3: 1.0}
    rows = TRUTH + [
        ("m", 0, "lw", "lw", k, "curve", float(k), [-10 - v] * 3) for k, v in values.items()
    ]
    (row,) = measures.headline(measures.pooled(measures.summary(made_up(rows)))).itertuples()
    assert (row.seconds_to_accurate, row.rmse_there, row.best_rmse, row.best_seconds) == (
        2.0,
        9.0,
        1.0,
        3.0,
    )


def test_bounds_of_a_real_experiment_are_covered(small_store):
    table = measures.summary(read_frames(small_store))
    assert (table.coverage.dropna() >= 0.75).all()  # 4 trials a rung, expected at least 0.95


#: The paper's own story, as numbers: every claim must come out as holding.
STORY = {
    "clustering": {
        "ais": {10: (1, -50, 9), 1000: (37, -6, 3)},
        "smc": {10: (9, -4, 2), 100: (90, -2, 1)},
        "nested": {5: (10, -11, 5), 50: (51, -2, 5)},
        "lw": {10: (0.1, -40, 1), 100: (1, -40, 1), 10000: (100, -38, 1)},
        "hme": {10: (0.1, 40, 1), 100: (1, 40, 1), 10000: (100, 38, 1)},
        "cms": {10: (0.1, -21, 1), 100: (1, -21, 1), 10000: (100, -20, 1)},
        "vb": {1: (0.1, -25, 0.1), 100: (10, -22, 0.1)},
        "vb-sym": {1: (0.1, -18, 0.1), 100: (10, -15, 0.1)},
        "vb-hint": {1: (0.1, -22, 0.1)},
        "bic": {1: (0.1, -300, 1)},
    },
    "low-rank": {
        "ais": {10: (1.6, -8, 3), 1000: (16, -2, 1)},
        "smc": {10: (9, -400, 2)},
        "nested": {5: (10, -40, 15)},
        "lw": {10: (100, -2000, 1)},
        "hme": {10: (100, 180, 1)},
        "cms": {10: (100, -1100, 1)},
        "vb": {100: (10, -60, 0.1)},
        "vb-sym": {100: (10, -55, 0.1)},
        "vb-hint": {1: (0.1, -60, 0.1)},
        "bic": {1: (0.1, 40, 1)},
    },
    "binary-attributes": {
        "ais": {10: (90, -40, 5), 30: (200, -30, 5), 100: (300, -20, 5), 1000: (990, -6, 4)},
        "smc": {1: (300, -40, 5), 3: (600, -20, 4), 10: (1230, -11, 3), 1000: (4140, -4, 2)},
        "nested": {5: (906, 0.5, 8.5)},
        "lw": {10: (100, -800, 1)},
        "hme": {10: (100, 250, 1)},
        "cms": {10: (100, -15, 0.5)},
        "vb": {100: (10, -40, 0.1)},
        "vb-sym": {100: (10, -30, 0.1)},
        "vb-hint": {1: (0.1, -41, 0.1)},
        "bic": {1: (0.1, -200, 1)},
    },
}
CROSS = {
    "clustering": {"clustering": -77.5, "low-rank": -90.6, "binary-attributes": -83.2},
    "low-rank": {"clustering": -14.2, "low-rank": 54.9, "binary-attributes": 28.6},
    "binary-attributes": {"clustering": -68.6, "low-rank": -41.7, "binary-attributes": -19.4},
}
STEPS = {"clustering": 208, "low-rank": 904, "binary-attributes": 404}


def story(
    change=lambda model, curve, rung, seconds, bias, spread: (seconds, bias, spread),
) -> Frames:
    wave = np.append(np.repeat([-1.2, -1.0, -0.8, 0.8, 1.0, 1.2], 4), 0.0)  # 25 trials
    rows, details = [], []
    for model, curves in STORY.items():
        for name in ("ais", "reverse-ais"):
            rows.append((model, 0, name, name, 30000, "truth", 1.0, [0.0] * 7))
        for curve, rungs in curves.items():
            estimator = "vb" if curve == "vb-hint" else curve
            for rung, (seconds, bias, spread) in rungs.items():
                seconds, bias, spread = change(model, curve, rung, seconds, bias, spread)
                rows.append(
                    (model, 0, curve, estimator, rung, "curve", seconds, bias + spread * wave)
                )
        for fit, value in CROSS[model].items():
            seconds, value, _ = change(model, f"inferred-{fit}", 30000, 1.0, value, 0.0)
            rows += [
                (model, 0, f"inferred-{fit}", "ais", rung, "cross", seconds, [value] * 3)
                for rung in (3000, 30000)
            ]
        details.append((model, "nested", 5, "steps", STEPS[model]))
    return made_up(rows, details)


def verdicts(frames, *ids):
    """By claim: those of these ids, or all; without the explanations, which decide nothing."""
    claims = [claim for claim in frames.paper.claims if not ids or claim.id in ids]
    paper = dataclasses.replace(frames.paper, claims=claims, explanations=dict)
    frames = dataclasses.replace(frames, paper=paper)
    return {v.claim.id: v for v in ledger.decide(frames, measures.summary(frames))}


def test_the_papers_own_story_fulfils_every_claim():
    found = verdicts(story())
    assert len(found) == len(CLAIMS) >= 40
    assert [v.claim.id + ": " + v.ours for v in found.values() if v.holds is not True] == []


@pytest.mark.slow
def test_no_claim_holds_whatever_the_results():
    """Each claim fails on some change of the story, so none is true by construction."""
    changes = [
        lambda m, c, r, s, b, w: (s * 1e4, b, w),
        lambda m, c, r, s, b, w: (s, -b, w),
        lambda m, c, r, s, b, w: (s, 0.1, 0.01),
        lambda m, c, r, s, b, w: (s, -5000.0 if c == "lw" else 20.0, 0.01),
        lambda m, c, r, s, b, w: (s, b * (100 if r > 100 else 1), w * 0.01),
        lambda m, c, r, s, b, w: (s, b - (90 if c == "vb" else 0), w),
        lambda m, c, r, s, b, w: (s if c == "ais" else 1e-6, b, w),
        lambda m, c, r, s, b, w: (1e-6 if c == "ais" else s, b, w),
        lambda m, c, r, s, b, w: (s, b + 3, w if c in ("ais", "smc") else 60.0),
        lambda m, c, r, s, b, w: (s, 12.0 if c in ("ais", "smc", "nested") else b, w),
        lambda m, c, r, s, b, w: (s, 5.0, 0.0),
    ]
    failed = {
        i for change in changes for i, v in verdicts(story(change)).items() if v.holds is False
    }
    always = {c.id for c in CLAIMS} - failed
    # These look at what the changes above leave alone: the truth's gap and nested sampling's steps.
    assert always <= {"truth-agrees", "nested-steps-order", "nested-steps-numbers"}


def test_what_was_not_run_is_said_so(small_store):
    found = verdicts(dataclasses.replace(read_frames(small_store), paper=PAPERS["grosse2015"]))
    assert {v.holds for v in found.values()} >= {None}
    assert all(v.ours.startswith("not run: ") for v in found.values() if v.holds is None)
    assert all("def " in v.to_json()["query"] for v in found.values())


def test_redrawn_trials_are_the_tasks_own_and_shared_between_roles():
    """A task that is truth and curve keeps one set of values."""
    values = np.arange(25.0)
    rows = [("clustering", 0, "ais", "ais", 10, role, 1.0, values) for role in ("truth", "curve")]
    rows.append(("clustering", 0, "smc", "smc", 3, "curve", 1.0, 100 + values))
    again = firmness.redrawn(made_up(rows), np.random.default_rng(0)).trials
    by_role = {role: group.log_ml.tolist() for role, group in again.groupby(["curve", "role"])}
    assert by_role["ais", "truth"] == by_role["ais", "curve"]
    assert set(by_role["ais", "curve"]) < set(values) and min(by_role["smc", "curve"]) >= 100


def test_redrawn_data_sets_are_counted_as_often_as_they_are_drawn():
    rows = [
        ("clustering", seed, "lw", "lw", 10, "curve", 1.0, [float(seed)] * 4) for seed in range(6)
    ]
    again = firmness.redrawn(made_up(rows), np.random.default_rng(1))
    means = again.trials.groupby("data_seed").log_ml.agg(["mean", "size"])
    assert list(means.index) == list(range(6)) and set(means["size"]) == {4}
    assert 1 < means["mean"].nunique() < 6 and again.tasks.task.nunique() == 6


def test_a_verdict_that_redrawn_experiments_do_not_share_is_within_noise():
    """The story's noise is small beside its claims; thresholds by themselves."""
    frames = dataclasses.replace(story(), paper=PAPERS["grosse2015"])
    found = ledger.decide(frames, measures.summary(frames), resamples=2)
    assert all(v.share is not None for v in found)
    firm = [v for v in found if v.state == "holds"]
    assert len(firm) > 0.8 * len(found) and all(v.holds for v in firm)
    claim = found[0].claim
    states = [ledger.Verdict(claim, "", holds, share).state for holds, share in SHARES]
    assert states == ["holds", "within noise", "does not hold", "within noise", "not run", "holds"]
    assert ledger.Verdict(claim, "", None, open="not decided").state == "not decided"
    assert ledger.counted(found[:1]) == dict.fromkeys(ledger.STATES, 0) | {found[0].state: 1}


def with_shorter_runs(lacks: float) -> Frames:
    """The story, with what a tenth as long a run of each fit lacks, were it to fall as one over the
    root of the length."""
    frames = story()
    shorter = (frames.trials.role == "cross") & (frames.trials.rung == 3000)
    frames.trials.loc[shorter, "log_ml"] -= lacks * (math.sqrt(10) - 1)
    return frames


#: What fits lack, and which of the four claims about them are decided: leads are 5.7 nats, and
#: 22.3 and more; their median is 22.3.
FITS = {
    "clustering-data-true-model-wins": 5.7,
    "low-rank-data-true-model-wins": 26.3,
    "binary-data-true-model-wins": 22.3,
    "tens-of-nats-tell-models-apart": 22.3 - 10,
}


@pytest.mark.parametrize("lacks", [0.9, 1.1, 2.8, 2.9, 6.1, 6.2, 11.2, 14.0])
def test_claims_that_fits_might_still_overturn_are_not_decided(lacks):
    """Both fits of a lead may have that much to come."""
    frames = with_shorter_runs(lacks)
    table = measures.cross_table(frames)
    np.testing.assert_allclose(table.to_come, lacks)
    assert len(table) == 9 and table.rung.eq(30000).all() and table.settled.eq(lacks < 1).all()
    np.testing.assert_allclose(table.log_ml, measures.cross_table(story()).log_ml)
    found = verdicts(frames, *FITS)
    assert {i: found[i].state for i in FITS} == {
        i: "holds" if 2 * lacks < room else "not decided" for i, room in FITS.items()
    }


def test_claims_about_fits_that_nobody_asked_are_not_decided():
    frames = story()
    frames = dataclasses.replace(frames, tasks=frames.tasks[frames.tasks.rung != 3000])
    assert measures.cross_table(frames).to_come.isna().all()
    assert not measures.cross_table(frames).settled.any()
    found = verdicts(frames, *FITS)
    assert len(found) == len(FITS) and {v.state for v in found.values()} == {"not decided"}


def test_a_longer_run_still_to_come_leaves_no_value():
    frames = story()
    frames.tasks.loc[(frames.tasks.role == "cross") & (frames.tasks.rung == 30000), "status"] = (
        "pending"
    )
    assert measures.cross_table(frames).empty


def test_never_accurate_is_not_last():
    """And a curve that ends where it began does not improve."""
    far = story(lambda m, c, r, s, b, w: (s, b - 60 * (c == "smc"), w))
    never = verdicts(far, "binary-smc-last")
    assert never["binary-smc-last"].holds is False
    level = story(lambda m, c, r, s, b, w: (s, -8 if c == "smc" else b, 1.0))
    flat = verdicts(level, "binary-ais-smc-improve")
    assert flat["binary-ais-smc-improve"].holds is False


def test_no_error_is_both_accurate_and_far():
    """From 10 to 15 nats an estimator is neither."""

    def of_cms(error):
        frames = story(lambda m, c, r, s, b, w: (s, -error if c == "cms" else b, 0.01))
        return verdicts(frames, "clustering-three-accurate", "clustering-cms-between")

    at = {error: of_cms(error) for error in (9.0, 12.0, 16.0)}
    assert [v["clustering-three-accurate"].holds for v in at.values()] == [False, True, True]
    assert [v["clustering-cms-between"].holds for v in at.values()] == [False, False, True]


def test_the_hint_is_compared_with_a_trial_and_not_with_the_best_of_all():
    """One of 25 trials that reaches the hint's optimum does not make random starts as good."""
    frames = story()
    mine = (frames.trials.curve == "vb") & (frames.trials.problem == "binary-attributes")
    hinted = frames.trials[
        (frames.trials.curve == "vb-hint") & (frames.trials.problem == "binary-attributes")
    ].log_ml.max()
    frames.trials.loc[mine, "log_ml"] = hinted - 8.0
    frames.trials.loc[frames.trials[mine].index[0], "log_ml"] = hinted + 1.0
    assert verdicts(frames, "binary-vb-hint")["binary-vb-hint"].holds is False


def test_several_data_sets_count_their_errors_and_not_the_mean_of_them():
    """Combined errors of +8 and -8 are errors of 8, not of nothing."""
    other = [(r[0], 1, *r[2:7], [v + 90 for v in r[7]]) for r in TRUTH]
    rows = [
        *TRUTH,
        *other,
        ("m", 0, "lw", "lw", 5, "curve", 1.0, [-18, -18]),
        ("m", 1, "lw", "lw", 5, "curve", 1.0, [88, 88]),
    ]
    (row,) = measures.pooled(measures.summary(made_up(rows))).itertuples()
    assert (row.combined_error, row.combined_rmse) == (0.0, 8.0)


def test_the_story_in_three_sentences():
    frames = dataclasses.replace(story(), paper=PAPERS["grosse2015"])
    found = ledger.decide(frames, measures.summary(frames))
    told = ledger.story(found, measures.truth(frames))
    mine = sum(not v.claim.about_seconds for v in found)
    assert f"Of {mine} claims {mine} hold and 0 do not" in told and told.count(". ") == 1
    assert "9 of 9 more are reached in their seconds" in told
    bad = [dataclasses.replace(v, holds=False) for v in found]
    assert "do not hold have an experiment beside them" in ledger.story(bad, measures.truth(frames))


def test_redraws_in_which_nothing_can_be_said_agree_with_nobody():
    claim = CLAIMS[0]
    states = [
        ledger.Verdict(claim, "", holds, share, undecided).state
        for holds, share, undecided in (
            (True, 0.9, 0.1),
            (True, 0.02, 0.98),
            (False, 0.0, 0.1),
            (False, 0.0, 0.5),
        )
    ]
    assert states == ["holds", "within noise", "does not hold", "within noise"]


def test_nothing_is_said_of_what_is_not_done_to_its_end():
    """One rung of a curve, or half of a truth: its claims are not run, and nothing crashes."""
    frames = story()
    one = frames.tasks[(frames.tasks.curve == "smc") & (frames.tasks.rung == 100)].index[0]
    frames.tasks.loc[one, "status"] = "pending"
    found = verdicts(frames, "clustering-order", "clustering-three-accurate", "low-rank-ais-alone")
    assert found["clustering-order"].state == found["clustering-three-accurate"].state == "not run"
    assert found["low-rank-ais-alone"].state == "holds"
    frames = story()
    reverse = (frames.tasks.role == "truth") & (frames.tasks.estimator == "reverse-ais")
    frames.tasks.loc[reverse, "status"] = "pending"
    assert {v.state for v in verdicts(frames).values() if not v.claim.fitted} == {"not run"}


def test_a_truth_that_is_not_accepted_decides_nothing():
    frames = story()
    upper = (frames.trials.role == "truth") & (frames.trials.estimator == "reverse-ais")
    frames.trials.loc[upper, "log_ml"] += 7.0
    found = verdicts(frames, "truth-agrees", "clustering-order")
    assert found["truth-agrees"].state == "does not hold"
    assert found["clustering-order"].state == "not decided"


def test_biases_that_cancel_are_no_variance():
    """Two data sets, +8 and -8 with hardly any noise: the error is not the estimator's variance."""
    binary = "binary-attributes"
    rows = [(binary, s, n, n, 30, "truth", 1.0, [0.0] * 3)
            for s in (0, 1) for n in ("ais", "reverse-ais")]  # fmt: skip
    rows += [(binary, s, "nested", "nested", 5, "curve", 1.0, [b - 1, b, b + 1])
             for s, b in ((0, 8.0), (1, -8.0))]  # fmt: skip
    claim = "binary-nested-variance"
    assert verdicts(made_up(rows), claim)[claim].holds is False


def test_fewer_trials_than_the_papers_are_not_combined():
    frames = story()
    few = dataclasses.replace(frames, tasks=frames.tasks.assign(trials=8))
    combining = {"combining-helps-the-accurate", "combining-does-not-help-the-others",
                 "clustering-combined-alike"}  # fmt: skip
    assert {i for i, v in verdicts(few).items() if v.state == "not run"} == combining


@pytest.mark.parametrize(
    ("rungs", "state"), [([200, 10000], "not run"), ([100, 10000], "holds"), ([20, 10000], "holds")]
)
def test_two_decades_are_two_decades(rungs, state):
    """Rungs may be further apart; nearer ones say nothing."""
    frames = story()
    lw = (frames.tasks.problem == "clustering") & (frames.tasks.curve == "lw")
    tasks = frames.tasks[~(lw & (frames.tasks.rung == 100))].copy()
    for rung, value in zip((10, 10000), rungs, strict=True):
        tasks.loc[lw & (tasks.rung == rung), "rung"] = value
    claim = "clustering-lw-constant"
    assert verdicts(dataclasses.replace(frames, tasks=tasks), claim)[claim].state == state


def test_nobody_wins_where_nobody_arrives():
    frames = story(lambda m, c, r, s, b, w: (s, -50.0 if m == "low-rank" else b, w))
    assert verdicts(frames, "nobody-dominates")["nobody-dominates"].state == "not decided"


def test_settings_of_a_preset_that_were_fitted_to_nothing_are_not_marked():
    some = [claim for claim in CLAIMS if claim.fitted][:3]
    paper = dataclasses.replace(PAPERS["grosse2015"], claims=some, explanations=dict)
    for name, marked in (("grosse2015-clear", False), ("grosse2015-full", True)):
        frames = dataclasses.replace(story(), paper=paper)
        frames = dataclasses.replace(frames, experiment=frames.experiment | {"name": name})
        found = ledger.decide(frames, measures.summary(frames))
        assert [bool(v.claim.fitted) for v in found] == [marked] * 3


SHARES = [(True, 0.95), (True, 0.5), (False, 0.02), (False, 0.4), (None, None), (True, None)]
