"""The adapted schedule: its table, what it equalises, what it leaves unbiased; and the split of the
gap."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import AIS, Clustering, InputError, LowRank, ReverseAIS, estimate, sandwich, simulate
from bracketz.engine.anneal import Forward, Reverse
from bracketz.engine.checkpoint import Checkpoint
from bracketz.engine.recorder import CELLS, Recorded, Recording, edge_variances, edges_in_cells
from bracketz.engine.run import Outcome, run_chains
from bracketz.engine.schedule import KNOTS, adapt, initial_table, predict, run_pilot, schedule_cost
from bracketz.engine.session import Session, Silent
from bracketz.paths import Adapted, Prefix, Tempered
from tiny_instances import TINY

MODEL = Clustering(components=3)
DATA = simulate(MODEL, 20, 6, seed=0)
CHAINS = 6  # in all tests of this model, for one set of programs

#: A schedule does not see how a row is updated: one of the binary models.
KINDS = ["clustering", "low-rank", "binary-bits"]


def tiny_problem(name):
    model, shape = TINY[name]
    return model, simulate(model, *shape, seed=12)


def record(program, edges, chains, stream, seed=0):
    return run_chains(
        Recorded(program), edges, chains=chains, seed=seed, stream=stream, session=Session()
    )


def recorded(increments) -> Outcome:
    return Outcome(np.zeros(len(increments)), Recording(None, increments, {}), True, 0.0, 0.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("edges", [1, 7, 255, CELLS, 1000, 1 << 22])
def test_every_edge_lies_in_a_cell(edges):
    count = edges_in_cells(edges)
    assert count.shape == (CELLS,) and count.sum() == edges
    some = np.unique(np.linspace(0, edges - 1, 1000).astype(int))
    first = np.concatenate([[0], np.cumsum(count)])
    cells = some * CELLS // edges
    assert np.all((first[cells] <= some) & (some < first[cells + 1]))


@pytest.mark.slow
@pytest.mark.parametrize("edges", [40, 700])
def test_recording_changes_no_bit_and_keeps_the_increments(edges):
    path = Tempered().through(edges + 1)
    for program in (Forward(MODEL, DATA.y, path), Reverse(MODEL, DATA.y, path, DATA.exact)):
        plain = run_chains(program, edges, chains=CHAINS, seed=1, stream="s", session=Session())
        kept = record(program, edges, CHAINS, "s", seed=1)
        assert plain.log_values.tolist() == kept.log_values.tolist()
        count, increments = edges_in_cells(edges), kept.carry.increments
        if edges <= CELLS:  # all of them are there
            np.testing.assert_allclose(
                program.sign * increments.sum(axis=1), plain.log_values, rtol=1e-12
            )
        assert np.all((increments != 0).all(axis=0) == (count > 0))


def test_one_program_serves_all_tables_and_lengths():
    from bracketz.engine import run as loop

    def once(distributions, table):
        path = Tempered(Adapted(table=table)).through(distributions)
        record(Forward(MODEL, DATA.y, path), path.num_edges, CHAINS, "t")

    once(30, initial_table())
    before = loop.trace_count
    once(50, np.linspace(0, 1, KNOTS))
    assert loop.trace_count == before


def test_adapted_tables_rise_from_exactly_zero_to_exactly_one():
    """Whatever the pilot saw: noise, variance in one place only, long stretches without any."""
    rng = np.random.default_rng(0)
    for edges in (1, 3, 100, 255, 1000):
        for shape in ("flat", "peak", "none"):
            scale = {
                "flat": np.ones(CELLS),
                "peak": 1e-3 + 1e3 * (np.arange(CELLS) == 70),
                "none": 0.0,
            }[shape]
            table = adapt(initial_table(), edges, recorded(scale * rng.normal(size=(5, CELLS))))
            assert table[0] == 0 and table[-1] == 1 and np.all(np.diff(table) > 0)
            betas = jax.vmap(Tempered(Adapted(table=table)).through(1000).inverse_temperature)(
                jnp.arange(1000)
            )
            assert betas[0] == 0 and betas[-1] == 1 and np.all(np.diff(betas) > 0)


def test_equal_increments_of_the_root_variance():
    """Known answer: along the linear schedule let the deviation at beta be proportional to 1 + 3
    beta. Equal increments of beta + 3 beta^2 / 2 are wanted, so beta(s) = (sqrt(1 + 15 s) - 1) / 3.
    400 chains know a smoothed deviation to 2 %."""
    edges = CELLS
    beta = (np.arange(edges) + 0.5) / edges
    increments = (1 + 3 * beta) * np.random.default_rng(1).normal(size=(400, CELLS))
    table = adapt(np.linspace(0, 1, KNOTS), edges, recorded(increments))
    s = np.linspace(0, 1, KNOTS)
    np.testing.assert_allclose(table, (np.sqrt(1 + 15 * s) - 1) / 3, atol=0.01)


@pytest.mark.slow
def test_the_adapted_schedule_spreads_the_variance_evenly():
    model = LowRank(components=2)
    data = simulate(model, 20, 6, seed=0)

    def programs(path):
        return Forward(model, data.y, path), Reverse(model, data.y, path, data.exact)

    both = (lambda path, i=i: programs(path)[i] for i in (0, 1))
    found = run_pilot(Tempered(Adapted()), *both, chains=50, seed=0, session=Session())

    def roots(path):
        outcomes = [record(p, 255, 50, f"even {p.sign}") for p in programs(path)]
        root = np.sqrt(edge_variances(*outcomes)[edges_in_cells(255) > 0])
        return root, schedule_cost(255, *outcomes)

    plain, plain_cost = roots(Tempered().through(256))
    even, even_cost = roots(found.path.through(256))
    # A deviation over 50 chains is known to 7 %; the sigmoid's own spread is many times that.
    assert np.std(even) / np.mean(even) < 0.25 < 0.5 < np.std(plain) / np.mean(plain)
    assert even_cost < 0.75 * plain_cost


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in KINDS if name != "low-rank"])
def test_schedule_cost_is_the_gap_under_perfect_mixing(name):
    """Enumerated: sum_t (E_{f_t} - E_{f_{t-1}})[l_t]. 40 sweeps an edge mix these, and 2,000 chains
    know a variance to 3 % an edge; 5 % for their sum and the trapezoid rule."""
    model, data = tiny_problem(name)
    n, edges, chains = data.y.shape[0], 12, 2000
    path = Tempered().through(edges + 1)
    states, _ = model.nodes(data.y.shape)
    density = jax.jit(jax.vmap(model.log_annealed, (0, None, None)))
    levels = np.stack([density(states, data.y, path.powers(t, n)) for t in range(edges + 1)])
    p = np.exp(levels - jax.nn.logsumexp(levels, axis=1)[:, None])
    exact = np.sum((p[1:] - p[:-1]) * (levels[1:] - levels[:-1]))
    outcomes = [
        record(Forward(model, data.y, path, 40), edges, chains, name),
        record(Reverse(model, data.y, path, data.exact, 40), edges, chains, name),
    ]
    assert abs(schedule_cost(edges, *outcomes) / exact - 1) < 0.05
    gap = np.mean(outcomes[1].log_values) - np.mean(outcomes[0].log_values)
    error = np.sqrt(sum(np.var(o.log_values) for o in outcomes) / chains)
    assert abs(gap - exact) < 4 * error  # 1 in 16,000


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_adapted_bounds_meet_the_exact_evidence(name):
    model, data = tiny_problem(name)
    truth = model.exact_evidence(data.y)
    answer = sandwich(model, data, chains=100, first=256, gap=0.1, path=Tempered(Adapted(pilot=64)))
    assert abs(answer.lower - truth) < 0.1 and abs(answer.upper - truth) < 0.1
    assert answer.certificate.low < truth < answer.certificate.high


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_weights_on_a_frozen_schedule_are_unbiased(name):
    """E[w / Z] = 1 at 8 distributions, where the weights still vary: 4,000 chains, 4.5 standard
    errors, 1 in 150,000."""
    model, data = tiny_problem(name)
    truth = model.exact_evidence(data.y)
    found = run_pilot(
        Tempered(Adapted(pilot=64)),
        lambda path: Forward(model, data.y, path),
        chains=100,
        seed=0,
        session=Session(),
    )
    path = found.path.through(8)
    w = np.exp(record(Forward(model, data.y, path), 7, 4000, name).log_values - truth)
    assert abs(w.mean() - 1) < 4.5 * w.std() / np.sqrt(len(w))


def test_the_schedule_is_frozen_and_the_measured_chains_are_fresh():
    path = Tempered(Adapted(pilot=32))
    answer = sandwich(MODEL, DATA, first=32, max_effort=32, path=path, chains=CHAINS, seed=5)
    found = run_pilot(
        path,
        lambda path: Forward(MODEL, DATA.y, path),
        chains=CHAINS,
        seed=5,
        session=Session(),
    )
    path = found.path.through(32)
    forward, reverse = Forward(MODEL, DATA.y, path), Reverse(MODEL, DATA.y, path, DATA.exact)
    # Given the table, the look is an ordinary run in streams of its own ...
    (look,) = answer.looks
    assert record(forward, 31, CHAINS, "lower 32", seed=5).log_values.tolist() == list(look.forward)
    assert record(reverse, 31, CHAINS, "upper 32", seed=5).log_values.tolist() == list(look.reverse)
    # ... and those are not the pilot's.
    again = record(forward, 31, CHAINS, "pilot lower", seed=5)
    assert not set(again.log_values) & set(look.forward)
    assert answer.pilot is not None and answer.pilot.seconds <= answer.seconds.run


@pytest.mark.slow
def test_the_report_splits_the_gap_and_predicts():
    answer = sandwich(MODEL, DATA, gap=1e-3, first=256, max_effort=256, chains=CHAINS)
    assert answer.split is not None and answer.predicted is not None
    assert answer.split.schedule + answer.split.mixing == pytest.approx(answer.jeffreys_bound)
    assert answer.split.schedule > 0
    assert answer.predicted.distributions > 1e6
    assert predict(4.0, 1.0, 101) == 401 and predict(1e-6, 1.0, 101) == 2
    assert answer.to_json()["split"].keys() == {"schedule", "mixing"}
    for other in ({"path": Prefix(), "max_effort": 1}, {"particles": 3, "max_effort": 32}):
        plain = sandwich(MODEL, DATA, gap=1e-9, chains=3, **other)
        assert plain.split is None and plain.predicted is None


@pytest.mark.slow
def test_particles_adapt_too():
    answer = sandwich(MODEL, DATA, gap=1e9, chains=3, particles=3, path=Tempered(Adapted(pilot=32)))
    assert answer.pilot is not None and answer.split is None


class Impatient(Silent):
    """Ctrl-C after ``patience`` reports."""

    def __init__(self, patience):
        self.patience = patience

    def advance(self, done, value):
        self.patience -= 1
        if self.patience == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("patience", [2, 6, 10])
def test_an_interrupted_pilot_resumes_to_the_same_numbers(tmp_path, patience):
    def once(session):
        return sandwich(
            MODEL,
            DATA,
            first=600,
            max_effort=600,
            path=Tempered(Adapted(pilot=200)),
            chains=CHAINS,
            session=session,
        )

    expected = once(Session()).looks[0]
    file = tmp_path / "c.npz"
    with pytest.raises(KeyboardInterrupt):
        once(
            Session(
                checkpoint=Checkpoint(file, {}, every_seconds=0.0), progress=Impatient(patience)
            )
        )
    resumed = once(Session(checkpoint=Checkpoint(file, {}, resume=True))).looks[0]
    assert (resumed.forward, resumed.reverse) == (expected.forward, expected.reverse)
    assert resumed.schedule_cost == expected.schedule_cost


@pytest.mark.slow
def test_ais_adapts_on_observed_data_too():
    plain = estimate(MODEL, DATA.y, AIS(distributions=16), trials=40)
    adapted = estimate(MODEL, DATA.y, AIS(distributions=16, schedule="adapted"), trials=40)
    upper = estimate(MODEL, DATA, ReverseAIS(distributions=16, schedule="adapted"), trials=40)
    # Both bound one number; 5 nats is a Markov bound of 1 in 150 for each, and these runs are far
    # inside it.
    assert abs(adapted.log_ml - plain.log_ml) < 5 and adapted.log_ml < upper.log_ml + 5
    assert adapted.log_ml_trials != plain.log_ml_trials
    with pytest.raises(InputError, match="at least 2 trials or chains"):
        estimate(MODEL, DATA.y, AIS(distributions=16, schedule="adapted"), trials=1)


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: Tempered(Adapted()).through(9).powers(1, 3), "before its pilot has run"),
        (lambda: Adapted(table=[0, 0.5, 0.4, 1]), "rise from 0 to 1"),
        (lambda: Adapted(table=[0.1, 1]), "rise from 0 to 1"),
        (lambda: Adapted(pilot=1), "at least 2 distributions, got 1"),
        (lambda: Tempered("adapted"), "schedule must be one such as"),
        (lambda: sandwich(MODEL, DATA, path="prefix"), "path must be one such as"),
        (
            lambda: adapt(initial_table(), 9, recorded(np.full((3, CELLS), -np.inf))),
            "infinite log-weights",
        ),
        (lambda: AIS(schedule="adaptd"), "did you mean 'adapted'"),
    ],
)
def test_bad_schedules_are_refused(make, words):
    with pytest.raises(InputError, match=words):
        make()
