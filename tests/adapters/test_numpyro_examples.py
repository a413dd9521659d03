"""The nine textbook models: made, drawn from, scored as NumPyro scores them."""

import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

pytest.importorskip("numpyro")
from numpyro.infer.util import potential_energy

from bracketz.core.precision import double_precision

FILE = Path(__file__).parents[2] / "examples" / "your_model" / "numpyro_models.py"
SPEC = importlib.util.spec_from_file_location("numpyro_models", FILE)
EXAMPLES = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(EXAMPLES)


def test_there_are_nine():
    assert len(EXAMPLES.MODELS) == 9


@pytest.mark.parametrize("name", EXAMPLES.MODELS)
def test_a_textbook_model(name):
    with double_precision():
        model = EXAMPLES.MODELS[name]()
        x = model.sample_prior(jax.random.key(0))
        y = model.simulate(jax.random.key(1), x)
        assert model.log_likelihood(x, y).shape == y.shape
        ours = model.log_prior(x) + jnp.sum(model.log_likelihood(x, y))
        args, kwargs = model.program.call.arguments(model.arrays)
        theirs = -potential_energy(model.program.call.function, args, {**kwargs, "y": y}, x)
        np.testing.assert_allclose(ours, theirs, rtol=1e-11)
        back = model.unconstrain(model.constrain(x))
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-8), back, x)
