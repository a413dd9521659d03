"""Which randomness, which settings and which path every run has: looked at without running any."""

import collections
import importlib

import jax
import numpy as np
import pytest

import bracketz as bz
from bracketz.inference.coupling import couple
from bracketz.inference.procedure import UNIFORMS
from recorded_runs import Runs

MODEL = bz.Clustering(components=2)
DATA = bz.simulate(MODEL, 5, 2, seed=3)


@pytest.fixture
def runs(monkeypatch):
    return Runs(monkeypatch)


def assert_no_key_twice(table):
    keys = collections.Counter(key for _, key in table)
    twice = [purpose for purpose, key in table if keys[key] > 1]
    assert not twice, twice[:4]


def sandwich(**more):
    path = bz.Tempered(bz.Adapted(pilot=16))
    given = {"gap": 1e-3, "chains": 6, "first": 4, "max_effort": 8, "looks": 2, "path": path}
    return bz.sandwich(MODEL, DATA, **given | more)


def test_no_key_occurs_twice_in_a_sandwich(runs):
    """The pilot, every rung and batch, every look and direction, every chain."""
    runs.spread = 3.0
    sandwich()
    purposes = {run.stream.split()[0] for run in runs.made}
    assert purposes == {"pilot", "ladder", "lower", "upper"}
    assert any("batch" in s for s in runs.streams) and any("look 2" in s for s in runs.streams)
    assert_no_key_twice(runs.table())


@pytest.mark.parametrize(
    "model", [MODEL, bz.Incomplete(MODEL, np.ones((5, 2)))], ids=["all", "holes"]
)
def test_no_key_occurs_twice_on_observed_data(runs, monkeypatch, model):
    """Ladder, forward runs, uniforms of coupled chains, reverse runs; twins: their data, and each
    one's own runs and truth."""
    seen = []
    twin = type(MODEL).twin

    def noted(self, key, state, y):
        seen.append((f"twin {len(seen) + 1}", jax.random.key_data(key).tobytes()))
        return twin(self, key, state, y)

    monkeypatch.setattr(type(MODEL), "twin", noted)
    runs.spread = 0.5
    bz.evidence(model, DATA.y, first=4, max_effort=64, starts=4, chains=8, twins=2)
    kinds = [s.split(": ")[-1].rsplit(" ", 1)[0] for s in runs.streams]
    assert {"ladder", "forward", "reverse", "truth, forward", "truth, reverse"} <= set(kinds)
    assert sum(s.startswith("twin 2: ") for s in runs.streams) >= 4 and len(seen) == 2
    assert_no_key_twice(runs.table() + seen)


def test_no_key_occurs_twice_in_a_comparison(runs):
    """Candidates have streams of their own. (Pilots of inferred hyperparameters have those of their
    seed, whoever is compared: what is measured is independent of them.)"""
    knobs = {"first": 4, "max_effort": 16, "starts": 4, "chains": 8, "twins": 1}
    bz.compare([bz.Clustering(2), bz.Clustering(3), bz.LowRank(1)], DATA.y, **knobs)
    assert len({s.split(": ")[0] for s in runs.streams}) == 3
    # The uniforms of coupled chains are the seed's: each candidate's weights are its own.
    assert_no_key_twice([row for row in runs.table() if row[0] != "numpy"])


def test_no_key_occurs_twice_in_an_estimate(runs):
    for estimator in (bz.AIS, bz.ReverseAIS):
        runs.made.clear()
        bz.estimate(MODEL, DATA, estimator(distributions=8, schedule=bz.Adapted(pilot=4)), trials=5)
        assert runs.streams == ["pilot lower", estimator.name]
        assert_no_key_twice(runs.table())


def test_no_key_occurs_twice_in_a_pilot_of_hyperparameters(runs, monkeypatch):
    pilot = importlib.import_module("bracketz.models.hyper_pilot")
    monkeypatch.setattr(pilot, "_log_joint", lambda model, y, states: np.zeros(40))
    monkeypatch.setattr(pilot, "matched", lambda priors, *given: priors)
    model = bz.InferredClustering(components=2)
    pilot.search(model, DATA.y, seed=0, chains=20, note=lambda text: None)
    assert len(runs.made) == 2 * (2 + 1 + pilot.ROUNDS * len(pilot.SPREADS))
    assert_no_key_twice(runs.table())


# Both directions on one path, with the settings that were asked for.


@pytest.mark.parametrize(
    "path", [None, bz.Tempered(bz.Linear()), bz.Tempered(bz.Adapted(pilot=4)), bz.Prefix(shuffle=2)]
)
def test_both_directions_run_on_one_path(runs, path):
    sandwich(path=path, max_effort=4, looks=1, sweeps=3)
    (lower,), (upper,) = runs.named("lower"), runs.named("upper")
    assert lower.program.sign == 1 and upper.program.sign == -1
    for field in ("model", "y", "path", "sweeps", "resampling", "particles"):
        one, two = getattr(lower.program, field), getattr(upper.program, field)
        assert jax.tree.structure(one) == jax.tree.structure(two)
        jax.tree.map(np.testing.assert_array_equal, one, two)
    assert (lower.steps, lower.chains, lower.seed) == (upper.steps, upper.chains, upper.seed)
    jax.tree.map(np.testing.assert_array_equal, upper.program.exact, DATA.exact)
    assert (
        lower.steps
        == lower.program.path.num_edges
        == (5 if lower.program.path.name == "prefix" else 3)
    )
    if path is not None and path.pilot:
        table = lower.program.path.schedule.table
        assert all(r.program.path.schedule.table is not None for r in runs.named("pilot"))
        assert table is not None and np.all(np.diff(table) > 0)


def test_evidence_runs_both_ways_on_one_path(runs):
    answer = bz.evidence(MODEL, DATA.y, first=4, max_effort=4, starts=4, chains=9, twins=1, seed=5)
    for prefix in ("", "twin 1: ", "twin 1: truth, "):
        forward, reverse = runs.named(f"{prefix}forward"), runs.named(f"{prefix}reverse")
        for one in forward:
            for field in ("model", "y", "path", "sweeps", "particles"):
                both = getattr(one.program, field), getattr(reverse[0].program, field)
                jax.tree.map(np.testing.assert_array_equal, *both)
        assert reverse[0].chains == 8 and reverse[0].program.each == 2 and forward[0].chains == 32
    assert answer.chains == 4 * 32 and len(runs.named("forward")) == 4
    assert answer.reverse_chains == 8 and {r.seed for r in runs.named("forward")} == {5}
    assert runs.named("twin 1")[0].seed != 5


def test_states_of_coupled_chains_begin_reverse_runs_and_twins(runs, monkeypatch):
    """The very states, by name: the ends of the chains in their order, and twin k from end k."""
    told = []

    def noted(self, key, state, y):
        told.append(int(np.asarray(state.assignments)[0]))
        return DATA.exact, DATA.y

    monkeypatch.setattr(type(MODEL), "twin", noted)
    answer = bz.evidence(MODEL, DATA.y, first=4, max_effort=4, starts=4, chains=8, twins=3, seed=5)
    names = np.concatenate(
        [run.outcome.carry.particles.states.assignments[:, 0, 0] for run in runs.named("forward")]
    )
    weights = np.concatenate([run.outcome.log_values for run in runs.named("forward")])
    assert tuple(weights) == answer.log_weights
    meetings = couple(weights, answer.meetings.length, np.random.default_rng([5, UNIFORMS, 0]))
    (reverse,) = runs.named("reverse")
    assert reverse.program.exact.assignments[:, 0].tolist() == names[meetings.ends].tolist()
    assert told == [names[meetings.ends[k % 4]] for k in (1, 2, 3)]
    for k in (1, 2, 3):  # a twin's truth begins at the sample that made its data
        (back,) = runs.named(f"twin {k}: truth, reverse")
        assert np.all(back.program.exact.assignments == np.asarray(DATA.exact.assignments))


class OneWay(bz.Tempered):
    def exact_reversal(self, model):
        return False


def test_bennett_is_withheld_where_a_path_says_so(runs):
    answer = sandwich(path=bz.pytree_dataclass(OneWay)(), max_effort=4, looks=1)
    assert answer.log_ml_by == "midpoint" and answer.jeffreys_bound is None
    assert answer.log_ml == pytest.approx(0.5 * (answer.lower + answer.upper))


# Settings reach what they are settings of.

KNOBS = [
    (bz.AIS(distributions=7, sweeps=3, particles=4), 6, {"sweeps": 3, "particles": 4}),
    (bz.ReverseAIS(distributions=7, sweeps=3, particles=4), 6, {"sweeps": 3, "particles": 4}),
    (
        bz.SMC(transitions=3, particles=4, resample_threshold=0.3, resampling="residual"),
        5,
        {"sweeps": 3, "particles": 4, "resampling": (0.3, "residual")},
    ),
    (
        bz.SHME(transitions=2, particles=3, resample_threshold=0.9, resampling="multinomial"),
        5,
        {"sweeps": 2, "particles": 3, "resampling": (0.9, "multinomial")},
    ),
    (bz.LikelihoodWeighting(proposals=129), 3, {"proposals": 129}),
    (bz.HarmonicMean(proposals=9), 9, {"proposals": 9, "burn_in": 0, "from_exact": True}),
    (bz.HarmonicMean(proposals=9, start="chain"), 18, {"burn_in": 9, "from_exact": False}),
    (bz.HarmonicMean(proposals=9, burn_in=4), 13, {"burn_in": 4}),
    (bz.VariationalBayes(restarts=3), 3, {"hint": False}),
    (bz.VariationalBayes(restarts=3, start="hint"), 3, {"hint": True}),
    (bz.BIC(restarts=4), 4, {}),
    (bz.Chib(samples=9, burn_in=5), 13, {"samples": 9, "murray_salakhutdinov": False}),
    (bz.CMS(samples=9, burn_in=5), 13, {"samples": 9, "murray_salakhutdinov": True}),
    (bz.CMS(samples=9, burn_in=5, point="exact"), 13, {"from_exact": True}),
    (
        bz.Nested(transitions=2, particles=3, volume="arithmetic"),
        1_000_000,
        {"transitions": 2, "particles": 3, "volume": "arithmetic"},
    ),
]


@pytest.mark.parametrize(
    ("estimator", "steps", "fields"), KNOBS, ids=lambda v: getattr(v, "name", "")
)
def test_knobs_reach_the_program(runs, monkeypatch, estimator, steps, fields):
    monkeypatch.setattr(type(estimator), "details", lambda self, outcome: {})
    bz.estimate(MODEL, DATA, estimator, trials=7, seed=11)
    (run,) = runs.made
    assert (run.steps, run.chains, run.seed, run.stream) == (
        steps,
        7,
        11,
        estimator.name.replace("vb-sym", "vb"),
    )
    for name, value in fields.items():
        found = getattr(run.program, name)
        if name == "resampling":
            found = (found.threshold, found.scheme)
        assert found == value, name


@pytest.mark.parametrize("schedule", [bz.Linear(), bz.Sigmoid(delta=2.5)])
def test_schedules_reach_the_path(runs, schedule):
    for estimator in (
        bz.AIS(distributions=7, schedule=schedule),
        bz.ReverseAIS(7, schedule=schedule),
    ):
        bz.estimate(MODEL, DATA, estimator, trials=3)
        assert runs.made[-1].program.path.schedule == schedule or (
            runs.made[-1].program.path.schedule.delta == 2.5
        )
    bz.estimate(MODEL, DATA, bz.AIS(distributions=7, delta=2.5), trials=3)
    assert runs.made[-1].program.path.schedule.delta == 2.5


def test_orders_and_proposals_reach_the_path(runs):
    for estimator in (bz.SMC(proposal="prior", shuffle=3), bz.SHME(proposal="prior", shuffle=3)):
        bz.estimate(MODEL, DATA, estimator, trials=3)
        path = runs.made[-1].program.path
        assert path.proposal == "prior"
        assert path.order.tolist() == np.random.default_rng(3).permutation(5).tolist()


def test_settings_reach_every_run_of_a_sandwich(runs):
    runs.spread = 3.0
    answer = sandwich(particles=3, sweeps=2, chains=5, seed=7, path=None)
    for run in runs.made:
        assert (run.program.particles, run.program.sweeps, run.seed, run.chains) == (3, 2, 7, 5)
        assert run.program.resampling.threshold == 0.5
    assert answer.chains == len(answer.looks[-1].forward) and answer.seed == 7
