"""Stan programs: densities against closed forms, draws against densities, and every refusal.

Three programs are compiled (20 seconds each on one core, the first time) and kept in the cache
folder of the test run.
"""

import math
import pickle
import re
import shutil
import threading
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.sharding import Mesh, PartitionSpec

from bracketz import InputError
from bracketz.adapters.stan import StanModel, build, from_stan
from bracketz.engine.devices import usable_devices

pytestmark = [
    pytest.mark.skipif(find_spec("httpstan") is None, reason="httpstan is not installed"),
    pytest.mark.skipif(shutil.which("g++") is None, reason="there is no g++"),
]

HERE = Path(__file__).parent
COUNTS = {"N": 5, "y": [1, 2, 0, 4, 3], "exposure": [1.0, 1.0, 2.0, 1.0, 0.5]}
SHAPES = {"N": 4, "y": [0.5, 1.5, -0.2, 0.9], "prior_looks_at_data": 0, "rejects": 0}
KEY = jax.random.key(20)


def counts(**options) -> StanModel:
    return from_stan(HERE / "counts.stan", {**COUNTS, **options.pop("data", {})}, **options)


def shapes(**options) -> StanModel:
    return from_stan(HERE / "shapes.stan", {**SHAPES, **options.pop("data", {})}, **options)


def normal(value, mean, sd) -> float:
    value = np.asarray(value)
    return float(np.sum(-0.5 * ((value - mean) / sd) ** 2 - np.log(sd * math.sqrt(2 * math.pi))))


def log_factorials(y) -> float:
    return sum(math.lgamma(v + 1) for v in y)


# Densities.


@pytest.mark.parametrize("state", [-1.3, 0.0, 2.1])
def test_counts_keep_their_constants_and_the_jacobian(state):
    model, x, rate = counts(), jnp.array([state]), math.exp(state)
    gamma = 2 * math.log(0.5) - math.lgamma(2) + math.log(rate) - 0.5 * rate
    np.testing.assert_allclose(model.log_prior(x), gamma + state, rtol=1e-12)
    y, means = np.array(COUNTS["y"]), rate * np.array(COUNTS["exposure"])
    poisson = np.sum(y * np.log(means) - means) - log_factorials(y)
    np.testing.assert_allclose(model.log_likelihood(x, model.own_data), poisson, rtol=1e-12)


def test_every_shape_has_its_closed_form():
    model = shapes()
    x = model.sample_prior(KEY)
    v = jax.tree.map(np.asarray, model.constrain(x))
    assert {name: value.shape for name, value in v.items()} == {
        **{"mu": (), "level": (), "table": (2, 3), "rows": (2, 3), "shares": (4,)},
    }
    expected = normal(v["mu"], 1, 2) - math.log(4) + normal(v["table"], 0, 1)
    expected += normal(v["rows"], np.array([[1.0], [2.0]]), 0.5)
    expected += math.lgamma(10) - sum(math.lgamma(a) for a in (1, 2, 3, 4))
    expected += np.sum(np.array([0, 1, 2, 3]) * np.log(v["shares"]))
    free = (0, 1, *range(2, 14), 14, 15, 16)  # shares depend on the last three, others on one
    jacobian = jax_free_jacobian(model, x)[:, free]
    expected += np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(model.log_prior(x), expected, rtol=1e-6)
    likelihood = normal(SHAPES["y"], v["mu"], 0.7)
    np.testing.assert_allclose(model.log_likelihood(x, model.own_data), likelihood, rtol=1e-12)


def jax_free_jacobian(model, x, step=1e-6):
    """Of mu, level, table, rows and the first three shares in the state, by differences."""

    def values(x):
        v = model.split.constrain(x)
        parts = [v["mu"][:, None], v["level"][:, None], v["table"].reshape(len(x), -1)]
        parts += [v["rows"].reshape(len(x), -1), v["shares"][:, :3]]
        return np.concatenate(parts, axis=1)

    shifts = step * np.eye(len(x))
    return ((values(x + shifts) - values(x - shifts)) / (2 * step)).T


def test_gradients_are_those_of_the_values():
    model = shapes()
    x, step = model.sample_prior(KEY), 1e-5 * jnp.eye(17)
    for function in (
        model.log_prior,
        lambda x: model.log_likelihood(x, model.own_data),
        lambda x: model.log_annealed(x, model.own_data, jnp.array([0.3])),
    ):
        values = jax.jit(jax.vmap(function))
        differences = (values(x + step) - values(x - step)) / 2e-5
        np.testing.assert_allclose(jax.jit(jax.grad(function))(x), differences, atol=1e-7)
        tangent = jnp.arange(17.0)
        along = jax.jvp(function, (x,), (tangent,))[1]
        np.testing.assert_allclose(along, differences @ tangent, atol=1e-5)


def test_the_annealed_density_is_prior_and_power_times_likelihood():
    model = counts()
    x, powers = jnp.array([0.4]), jnp.array([0.25])
    expected = model.log_prior(x) + 0.25 * model.log_likelihood(x, model.own_data)
    np.testing.assert_allclose(model.log_annealed(x, model.own_data, powers), expected, rtol=1e-14)


def test_batches_loops_and_data_of_their_own():
    model = counts()
    x = jnp.linspace(-1.0, 1.0, 6)[:, None]
    y = jax.vmap(model.simulate)(jax.random.split(KEY, 3), x[:3])
    assert y.shape == (3, 5)
    one_by_one = [[float(model.log_likelihood(a, b)) for b in y] for a in x]
    both = jax.vmap(jax.vmap(model.log_likelihood, (None, 0)), (0, None))
    np.testing.assert_allclose(jax.jit(both)(x, y), one_by_one, rtol=1e-14)
    paired = jax.vmap(jax.grad(model.log_likelihood))(x[:3], y)
    alone = [jax.grad(model.log_likelihood)(a, b) for a, b in zip(x, y, strict=False)]
    np.testing.assert_allclose(paired, np.stack(alone), rtol=1e-14)

    def climb(x, _):
        return x + 0.01 * jax.vmap(jax.grad(model.log_prior))(x), None

    in_loop = jax.jit(lambda x: jax.lax.scan(climb, x, None, length=3)[0])(x)
    by_hand = x
    for _ in range(3):
        by_hand, _ = climb(by_hand, None)
    np.testing.assert_allclose(in_loop, by_hand, rtol=1e-14)


def test_every_device_at_once():
    """JAX copies large arguments on the pool whose threads wait for the callbacks, so with as many
    devices as threads all would wait for ever; ``usable_devices`` leaves a thread."""
    model, devices = shapes(), usable_devices()
    x = np.random.default_rng(0).normal(size=(1000 * len(devices), 17))
    gradients = jax.vmap(jax.grad(model.log_annealed), (0, None, None))
    rows = PartitionSpec("chains")

    def climb(x):
        def step(x, _):
            return x + 1e-3 * gradients(x, model.own_data, jnp.ones(1)), None

        return jax.lax.scan(step, x, None, length=5)[0]

    mesh = Mesh(np.array(devices), ("chains",))
    spread = jax.shard_map(climb, mesh=mesh, in_specs=rows, out_specs=rows, check_vma=False)
    assert (np.asarray(jax.jit(spread)(x)) == np.asarray(jax.jit(climb)(x))).all()


def test_what_stan_rejects_has_no_density():
    model = shapes(data={"rejects": 1})
    x = model.sample_prior(KEY).at[0].set(0.5)
    assert model.log_likelihood(x, model.own_data) == -jnp.inf
    assert jnp.isfinite(model.log_prior(x))
    assert not jax.grad(model.log_likelihood)(x, model.own_data).any()
    prior_alone = model.log_annealed(x, model.own_data, jnp.zeros(1))
    np.testing.assert_allclose(prior_alone, model.log_prior(x))


def test_threads_share_a_program():
    model, states = shapes(), np.random.default_rng(0).normal(size=(200, 17))
    expected = model.split.log_prior_gradient(states)[1]
    found: list[np.ndarray] = []

    def work():
        found.extend(model.split.log_prior_gradient(states)[1] for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all((gradient == expected).all() for gradient in found)


# Draws.


def test_a_key_is_a_draw():
    model = counts()
    x = model.sample_prior(KEY)
    assert x == model.sample_prior(KEY) == jax.jit(model.sample_prior)(KEY)
    assert x != model.sample_prior(jax.random.key(21))
    y = model.simulate(KEY, x)
    assert y.dtype == jnp.int64 and (y == model.simulate(KEY, x)).all()
    keys = jax.random.split(KEY, 4)
    together = jax.vmap(model.sample_prior)(keys)
    assert (together == jnp.stack([model.sample_prior(key) for key in keys])).all()


def test_draws_follow_the_prior_and_data_the_likelihood():
    """Moments within 5 standard errors: a false alarm in 3 of a million per number, fixed key."""
    model, count = shapes(), 4000
    keys = jax.random.split(KEY, count)
    x = jax.vmap(model.sample_prior)(keys)
    v = jax.vmap(model.constrain)(x)
    for values, mean, sd in (
        (v["mu"], 1.0, 2.0),
        (v["level"], 1.0, 4 / math.sqrt(12)),
        (v["table"], 0.0, 1.0),
        (v["rows"], np.array([[1.0], [2.0]]), 0.5),
        (v["shares"][:, 3], 0.4, math.sqrt(0.24 / 11)),
        ((v["mu"] - 1) ** 2, 4.0, 4 * math.sqrt(2)),
    ):
        assert (abs(values.mean(0) - mean) < 5 * sd / math.sqrt(count)).all()
    y = jax.vmap(model.simulate, (0, None))(keys, x[0])
    noise = (y - v["mu"][0]) / 0.7
    assert (abs(noise.mean(0)) < 5 / math.sqrt(count)).all()
    assert (abs((noise**2).mean(0) - 1) < 5 * math.sqrt(2 / count)).all()
    assert abs((noise[:, 0] * noise[:, 1]).mean()) < 5 / math.sqrt(count)


def test_one_key_for_parameters_and_data_does_not_tie_them():
    model, keys = shapes(), jax.random.split(KEY, 1000)
    zero = jnp.zeros(17)
    mu = jax.vmap(model.sample_prior)(keys)[:, 0]
    noise = jax.vmap(model.simulate, (0, None))(keys, zero)
    for i in range(4):
        assert abs(np.corrcoef(mu, noise[:, i])[0, 1]) < 5 / math.sqrt(1000)


def test_the_evidence_of_counts():
    """The mean likelihood of prior draws, within 5 standard errors."""
    model = counts()
    x = jax.vmap(model.sample_prior)(jax.random.split(KEY, 20_000))
    terms = jax.vmap(model.log_likelihood, (0, None))(x, model.own_data)
    weights = np.exp(terms - terms.max())
    estimate = math.log(weights.mean()) + terms.max()
    error = weights.std() / weights.mean() / math.sqrt(len(weights))
    y, exposure = np.array(COUNTS["y"]), np.array(COUNTS["exposure"])
    shape, rate = 2 + y.sum(), 0.5 + exposure.sum()
    evidence = 2 * math.log(0.5) + math.lgamma(shape) - shape * math.log(rate)
    evidence += np.sum(y * np.log(exposure)) - log_factorials(y)
    assert abs(estimate - evidence) < 5 * error < 0.2


def test_draws_one_already_has():
    given = np.random.default_rng(0).gamma(2, 2, size=1500)
    model = counts(prior_draws={"rate": given})
    x = jax.vmap(model.sample_prior)(jax.random.split(KEY, 50))
    rates = jax.vmap(model.constrain)(x)["rate"]
    assert np.isclose(rates[:, None], given, rtol=1e-12).any(1).all()
    assert len(np.unique(rates)) > 40


def test_coordinates_there_and_back():
    model = shapes()
    x = jax.vmap(model.sample_prior)(jax.random.split(KEY, 5))
    back = jax.jit(jax.vmap(lambda x: model.unconstrain(model.constrain(x))))(x)
    np.testing.assert_allclose(back, x, atol=1e-12)


def test_an_empty_data_set_in_place_of_a_flag():
    flagged = counts()
    model = counts(
        data={"prior_only": 0},
        prior_only="flag",
        prior_data={"N": 0, "y": [], "exposure": []},
    )
    x = jnp.array([0.3])
    assert model.log_prior(x) == flagged.log_prior(x)
    assert model.log_likelihood(x, model.own_data) == flagged.log_likelihood(x, model.own_data)


def test_equal_models_are_compiled_once_and_travel():
    first, second = counts(), counts()
    assert first.split == second.split != counts(data={"y": [1, 1, 1, 1, 1]}).split
    x, traces = jnp.array([0.3]), []

    @jax.jit
    def density(model, x):
        traces.append(model)
        return model.log_prior(x)

    travelled = pickle.loads(pickle.dumps(first))
    assert density(first, x) == density(second, x) == density(travelled, x)
    assert len(traces) == 1


def test_the_programs_of_many_data_sets_come_and_go():
    model = counts()
    y = jnp.arange(100)[:, None] * jnp.ones(5, int)
    found = jax.vmap(model.log_likelihood, (None, 0))(jnp.zeros(1), y)
    again = jax.vmap(model.log_likelihood, (None, 0))(jnp.zeros(1), y[::-1])
    assert (found == again[::-1]).all()
    assert len(model.split._programs) <= 64


# Refusals.


def refusal(*arguments, **options) -> str:
    with pytest.raises(InputError) as caught:
        from_stan(*arguments, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def other_tools():
    for remembered in (build.find_tools, build.describe, build.build):
        remembered.cache_clear()
    yield
    build.find_tools.cache_clear()


def test_without_httpstan(monkeypatch, other_tools):
    monkeypatch.setattr(build.importlib.util, "find_spec", lambda name: None)
    assert 'pip install "bracketz[stan]"' in refusal(HERE / "counts.stan", COUNTS)


def test_without_a_compiler(monkeypatch, other_tools):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert "needs a C++ compiler, and g++ is not" in refusal(HERE / "counts.stan", COUNTS)
    monkeypatch.setenv("CXX", "no-such-compiler")
    assert "no-such-compiler is not on the path" in refusal(HERE / "counts.stan", COUNTS)


@pytest.mark.parametrize(
    ("program", "sentence"),
    [
        ("parameters {\n  real mu\n}", r"line 3, column 0: .*variable declaration"),
        ("model {\n  1 ~ normall(0, 1);\n}", r"line 2, column \d+: Ill-typed arguments to"),
    ],
)
def test_a_program_that_is_not_stan(program, sentence):
    assert re.match(f"the Stan program is not valid: {sentence}", refusal(program, {}))


def test_no_file():
    assert refusal("nowhere.stan", {}) == "there is no Stan program at nowhere.stan"
    assert "`data` cannot be read from nowhere.json" in refusal(
        HERE / "counts.stan", "nowhere.json"
    )


def test_a_file_of_data_that_is_no_object(tmp_path):
    (tmp_path / "data.json").write_text("[1, 2]")
    found = refusal(HERE / "counts.stan", tmp_path / "data.json")
    assert "data.json must be an object: values by name" in found


def test_data_of_a_type_that_is_no_number():
    program = "data { complex z; int prior_only; } parameters { real x; } model { }"
    found = refusal(program, {"z": 1}, observed="z")
    assert found == "`z` is declared complex; data must be int or real"


def test_a_compiler_that_fails(monkeypatch, other_tools, tmp_path):
    """Its first error, in one line."""
    compiler = tmp_path / "cxx"
    compiler.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && exec echo 1.0\n'
        'printf "note\\nx.cpp:1: error: no such thing\\n" >&2\nexit 1\n'
    )
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("BRACKETZ_CACHE", str(tmp_path))
    assert refusal(HERE / "counts.stan", COUNTS) == (
        "cxx could not compile the Stan program: x.cpp:1: error: no such thing"
    )


def test_a_likelihood_that_cannot_be_left_out():
    found = refusal(HERE / "counts.stan", COUNTS, prior_only="flag")
    assert "no data `flag`" in found and "`prior_data`" in found


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"y": [1, 2]}, "variable name=y"),
        ({"y": [1, 2, 0, 4, -3]}, "but must be greater than or equal to 0"),
        ({"y": [1, 2, 0, 4, 0.5]}, "`y` in `data` is declared int, got 0.5"),
        ({"y": [1, 2, 0, 4, 2**31]}, "`y` in `data` is declared int and must be below 2^31"),
        ({"exposure": "abc"}, "`exposure` in `data` must be an array of numbers"),
    ],
)
def test_data_that_do_not_fit(data, sentence):
    assert sentence in refusal(HERE / "counts.stan", {**COUNTS, **data})


def test_names_that_do_not_fit():
    program = HERE / "counts.stan"
    assert "has no `exposure`" in refusal(program, {"N": 1, "y": [1]})
    assert "unknown data `observed` 'z'" in refusal(program, COUNTS, observed="z")
    assert "did you mean 'y_rep'" in refusal(program, COUNTS, simulated="y_rap")
    assert "must have the shape of `y`" in refusal(program, COUNTS, simulated="rate_prior")
    assert "one quantity for each" in refusal(program, COUNTS, simulated=("y_rep", "y_rep"))


def test_prior_draws_that_do_not_fit():
    def found(draws):
        return refusal(HERE / "counts.stan", COUNTS, prior_draws=draws)

    assert "has no `rate`" in found({"ratio": np.ones(1000)})
    assert "at least 1000 draws, got 10" in found({"rate": np.ones(10)})
    assert "must have shape (draws, ...)" in found({"rate": np.ones((1000, 2))})
    assert "do not fit the Stan program" in found({"rate": -np.ones(1000)})
    assert "inside the range" in found({"rate": np.zeros(1000)})


def test_prior_draws_on_the_boundary(monkeypatch):
    """By generated quantities that round to 0, say."""
    program = type(counts().split.joint)
    monkeypatch.setattr(program, "generate", lambda self, x, _: {"rate_prior": np.zeros(len(x))})
    assert "is on the boundary of its parameter's range" in refusal(HERE / "counts.stan", COUNTS)


@pytest.mark.parametrize(
    ("widths", "sentence"),
    [((0, 0), "has no parameters"), ((3, 2), "has 3 unconstrained parameters with all `data`")],
)
def test_parameters_that_come_and_go(widths, sentence, monkeypatch):
    """As of a program whose parameters are as many as its data."""
    program = type(counts().split.joint)
    made, left = program.__init__, list(widths)

    def init(self, *arguments):
        made(self, *arguments)
        self.width = left.pop(0)

    monkeypatch.setattr(program, "__init__", init)
    assert sentence in refusal(HERE / "counts.stan", COUNTS)


def test_a_prior_that_looks_at_the_data():
    found = refusal(HERE / "shapes.stan", {**SHAPES, "prior_looks_at_data": 1})
    assert "with `prior_only` = 1 the density of the Stan program still changes with `y`" in found


def test_other_data_must_have_the_same_shape():
    model = counts()
    with pytest.raises(InputError, match="must have the shape it has in `data`"):
        model.log_likelihood(jnp.zeros(1), jnp.zeros(6))


def test_without_generated_quantities():
    """Neither simulated data nor prior draws: both are told, and the rest works."""
    text = (HERE / "counts.stan").read_text().partition("generated quantities")[0]
    assert "draw it as the generated quantity `rate_prior`" in refusal(text, COUNTS)
    given = {"rate": np.random.default_rng(0).gamma(2, 2, size=1000)}
    model = from_stan(text, COUNTS, prior_draws=given)
    x = model.sample_prior(KEY)
    assert model.log_likelihood(x, model.own_data) == counts().log_likelihood(x, model.own_data)
    with pytest.raises(InputError, match="has no simulator"):
        model.simulate(KEY, x)
