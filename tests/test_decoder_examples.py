"""examples/decoders and examples/large: what their numbers rest on."""

import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import bracketz as bz

ROOT = Path(__file__).parents[1] / "examples"
sys.path.insert(0, str(ROOT / "decoders"))


def test_networks_come_back_from_their_file(tmp_path):
    import networks

    found, test = networks.load(ROOT / "decoders" / "digits.npz")
    assert set(found) == {"vae", "iwae"} and test.shape == (297, 64)
    assert set(np.unique(test)) == {0, 1}
    networks.save(tmp_path / "again.npz", found, test)
    again, bits = networks.load(tmp_path / "again.npz")
    np.testing.assert_array_equal(bits, test)
    jax.tree.map(np.testing.assert_array_equal, found, again)
    model = bz.Decoder(found["vae"]["decoder"], function=networks.decode, latents=50)
    assert model.data_shapes.shape == (64,)


def test_weights_of_an_encoder_average_to_the_likelihood():
    """E_q[p(z) p(y | z) / q(z)] = p(y), where the decoder says the same of every latent: exact for
    any samples once q is the prior."""
    import networks

    layer = {"weights": np.zeros((50, 3)), "biases": np.zeros(3)}
    last = {"weights": np.zeros((3, 4)), "biases": np.array([0.3, -1.0, 2.0, 0.0])}
    silent = [{"weights": np.zeros((4, 3)), "biases": np.zeros(3)}]
    silent.append({"weights": np.zeros((3, 100)), "biases": np.zeros(100)})
    found = {"decoder": [layer, last], "encoder": silent}
    y = np.array([1.0, 0.0, 1.0, 1.0])
    chance = 1 / (1 + np.exp(-last["biases"]))
    truth = np.sum(np.log(np.where(y == 1, chance, 1 - chance)))
    weights = jax.jit(lambda key: networks.log_weights(found, y, key, 7))(jax.random.key(0))
    np.testing.assert_allclose(weights, truth, rtol=1e-5)


def test_training_makes_digits_more_likely():
    import networks
    import train

    training, test = train.digits()
    keys = jax.random.split(jax.random.key(1), 50)
    of_each = jax.jit(jax.vmap(lambda found, y, k: networks.bound(found, y, k, 1), (None, 0, 0)))
    bounds = []
    for steps in (1, 60):
        found = train.trained(training, 1, steps)
        each = of_each(found, test[:50], keys)
        bounds.append(float(each.mean()))
    assert bounds[1] > bounds[0] + 1


def test_the_pines_are_all_there():
    points = np.loadtxt(ROOT / "large" / "finnish_pines.csv", delimiter=",", skiprows=1)
    assert points.shape == (126, 2)
    assert bz.CoxProcess(rows=5, columns=4).counts(points).sum() == pytest.approx(126)
