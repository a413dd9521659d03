"""Simulations on disk: any pytree of arrays comes back as it was, and nothing is ever pickled."""

import json
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.data.identity import described, hyperparameters, identity


class Tricky(NamedTuple):
    """Fields called like what a simulation holds besides."""

    y: jax.Array
    meta: jax.Array
    rest: dict


@bz.pytree_dataclass
class Anything(bz.Model):
    """A model whose state has whatever form ``kind`` says, and covariates of its own."""

    kind: str = bz.static(default="dict")
    covariates: object = None

    def __post_init__(self):
        given = np.arange(6.0).reshape(3, 2) if self.covariates is None else self.covariates
        object.__setattr__(self, "covariates", np.asarray(given))

    def sample_prior(self, key, shape):
        a, b = jax.random.normal(key, (2, 3))
        whole = jnp.arange(2, dtype=jnp.int32)
        return {
            "dict": {"slope": a, "y": b, "nested": {"slope": whole}},
            "tuples": ((a, (b,)), [whole]),
            "array": a,
            "tricky": Tricky(a, b, {"y": whole}),
            "scalar": {"only": a[0]},
        }[self.kind]

    def simulate(self, key, state, shape):
        return jax.random.normal(key, shape)

    def log_annealed(self, state, y, powers):
        return jnp.zeros(())

    def kernel(self, y, powers):
        return bz.Compose(())


@pytest.mark.parametrize("kind", ["dict", "tuples", "array", "tricky", "scalar"])
def test_any_pytree_of_arrays_comes_back(tmp_path, kind):
    model = Anything(kind)
    data = bz.simulate(model, 3, 2, seed=4)
    bz.save(data, tmp_path / "sim.npz")
    loaded = bz.load(tmp_path / "sim.npz", model)
    np.testing.assert_array_equal(loaded.y, data.y)
    assert jax.tree.structure(loaded.exact) == jax.tree.structure(data.exact)
    jax.tree.map(np.testing.assert_array_equal, loaded.exact, data.exact)
    jax.tree.map(lambda a, b: np.testing.assert_equal(a.dtype, b.dtype), loaded.exact, data.exact)
    with np.load(tmp_path / "sim.npz", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


@pytest.mark.parametrize(
    "model, names",
    [
        (bz.Clustering(3), {"assignments", "centers"}),
        (bz.LowRank(2), {"left", "right"}),
        (bz.BinaryAttributes(2), {"attributes", "features"}),
        (
            bz.InferredLowRank(2),
            {"left", "right", "left_variance", "right_variance", "noise_variance"},
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_shipped_models_keep_their_names(tmp_path, model, names):
    """Scripts read these files: y, meta, and the exact sample under plain field names."""
    bz.save(bz.simulate(model, 5, 3, seed=1), tmp_path / "sim.npz")
    with np.load(tmp_path / "sim.npz") as file:
        assert set(file.files) == {"y", "meta"} | names
        assert set(json.loads(str(file["meta"]))) == {"model", "hyperparameters", "seed", "version"}


def test_names_that_clash_are_prefixed(tmp_path):
    bz.save(bz.simulate(Anything("tricky"), 3, 2), tmp_path / "sim.npz")
    with np.load(tmp_path / "sim.npz") as file:
        assert {"state.y", "state.meta", "state.rest.y", "y", "meta"} <= set(file.files)


def test_what_is_no_array_of_numbers_is_refused(tmp_path):
    for bad in (jax.random.key(0), np.array(["text"]), np.array([None])):
        with pytest.raises(bz.InputError, match=r"'state.a' holds .*only arrays of real numbers"):
            bz.save(bz.Data(np.zeros((2, 2)), exact={"a": bad}), tmp_path / "sim.npz")
    assert list(tmp_path.iterdir()) == []


def test_covariates_are_kept_as_arrays_and_told_by_their_bytes(tmp_path):
    model = Anything(covariates=np.linspace(0, 1, 12).reshape(6, 2))
    data = bz.simulate(model, 3, 2)
    bz.save(data, tmp_path / "sim.npz")
    with np.load(tmp_path / "sim.npz") as file:
        np.testing.assert_array_equal(file["model.covariates"], model.covariates)
        meta = json.loads(str(file["meta"]))
    assert set(meta["hyperparameters"]["covariates"]) == {"sha256", "shape", "dtype"}
    back = bz.load(tmp_path / "sim.npz").meta["hyperparameters"]["covariates"]
    np.testing.assert_array_equal(back, model.covariates)
    assert bz.load(tmp_path / "sim.npz", model).simulated
    other = Anything(covariates=np.linspace(0, 1.1, 12).reshape(6, 2))
    with pytest.raises(bz.InputError, match=r"another array of shape \(6, 2\)"):
        bz.load(tmp_path / "sim.npz", other)


def test_identity_is_of_values_not_of_objects():
    same = [identity(Anything(covariates=np.arange(6.0).reshape(3, 2))) for _ in range(2)]
    assert same[0] == same[1] and json.dumps(same[0])
    assert identity(Anything(covariates=np.arange(6.0).reshape(2, 3))) != same[0]
    assert hyperparameters(bz.Clustering(2))["mixture"] == [0.5, 0.5]  # a hyperparameter, not data
    long = described(hyperparameters(Anything(covariates=np.zeros(2000))))["covariates"]
    assert long["shape"] == [2000]


def test_wrapped_models_say_what_they_wrap():
    observed = np.ones((3, 2))
    one = identity(bz.Incomplete(bz.Clustering(2), observed))
    two = identity(bz.Incomplete(bz.BinaryAttributes(2), observed))
    assert one["hyperparameters"]["model"]["model"] == "clustering"
    assert one != two


def test_a_file_is_overwritten_only_when_asked(tmp_path):
    data = bz.simulate(bz.Clustering(2), 4, 2)
    bz.save(data, tmp_path / "sim.npz")
    before = (tmp_path / "sim.npz").read_bytes()
    with pytest.raises(bz.InputError, match="exists; add `force=True`"):
        bz.save(bz.simulate(bz.Clustering(2), 4, 2, seed=9), tmp_path / "sim.npz")
    assert (tmp_path / "sim.npz").read_bytes() == before
    bz.save(bz.simulate(bz.Clustering(2), 4, 2, seed=9), tmp_path / "sim.npz", force=True)
    assert (tmp_path / "sim.npz").read_bytes() != before


@pytest.mark.parametrize("missing", ["assignments", "centers", "y", "meta"])
def test_a_file_that_lacks_something_is_refused(tmp_path, missing):
    model = bz.Clustering(2)
    bz.save(bz.simulate(model, 4, 2), tmp_path / "sim.npz")
    with np.load(tmp_path / "sim.npz") as file:
        rest = {name: file[name] for name in file.files if name != missing}
    np.savez(tmp_path / "less.npz", **rest)
    with pytest.raises(bz.InputError, match="lacks"):
        bz.load(tmp_path / "less.npz", model)


def test_a_simulation_of_another_model_or_with_other_values_is_refused(tmp_path):
    bz.save(bz.simulate(bz.Clustering(2), 4, 2), tmp_path / "sim.npz")
    with pytest.raises(bz.InputError, match="was simulated from clustering"):
        bz.load(tmp_path / "sim.npz", bz.LowRank(2))
    with pytest.raises(bz.InputError, match=r"noise_variance = 1.98, not 2.5"):
        bz.load(tmp_path / "sim.npz", bz.Clustering(2, noise_variance=2.5))


def test_observed_tables(tmp_path):
    (tmp_path / "y.csv").write_text("a,b\n1,2\n3,NA\n")
    with pytest.raises(bz.InputError, match=r"column 'b' .* holds 'NA' at row 2.*`missing=True`"):
        bz.load(tmp_path / "y.csv")
    found = bz.load(tmp_path / "y.csv", missing=True)
    assert not found.simulated and np.isnan(found.y[1, 1]) and found.y[1, 0] == 3
    np.save(tmp_path / "y.npy", np.arange(4))
    assert bz.load(tmp_path / "y.npy").y.shape == (4, 1)
