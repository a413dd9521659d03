"""Drawing data from a model, and keeping the state that made them."""

import functools

import jax
import numpy as np

from bracketz._version import __version__
from bracketz.core.capabilities import Collapsed
from bracketz.core.model import Model
from bracketz.core.precision import double_precision
from bracketz.core.undirected import Undirected
from bracketz.core.validation import check_seed, require_at_least, require_model, require_room_for
from bracketz.data.dataset import Data
from bracketz.data.identity import hyperparameters, model_label
from bracketz.engine.devices import use_all_cores
from bracketz.errors import InputError
from bracketz.models.factored import Factored
from bracketz.models.hyper_reference import at_prior

#: Folded into the key of exact starts, which nothing else may use.
STARTS = 0x57A275


def simulate(
    model: Model, rows: int | None = None, columns: int | None = None, seed: int = 0
) -> Data:
    """Draw (x, y) from the joint. The x that made y is an exact sample from p(x | y).

    An undirected model has no data to draw: its y are its own numbers (``Undirected.instance``),
    and x is an exact sample of it.

    Args:
        model: what to draw from.
        rows, columns: size of the data; the model's own by default.
        seed: everything random follows from it.

    Returns:
        The data, with the exact sample and what is integrated out.

    Raises:
        InputError: a size below 1, one the model cannot describe, or a bad seed.

    Example:
        >>> import bracketz as bz
        >>> bz.simulate(bz.LowRank(components=2), rows=10, columns=4, seed=1).y.shape
        (10, 4)
    """
    require_model(model)
    check_seed(seed)
    if isinstance(model, Factored):
        if rows is not None or columns is not None:
            raise InputError(
                f"{model.label} knows the size of its data; leave out `rows` and `columns`, or"
                " make the model with other covariates"
            )
        return _simulate_factored(model, seed)
    shape = (
        model.default_shape[0] if rows is None else rows,
        model.default_shape[1] if columns is None else columns,
    )
    require_at_least(1, rows=shape[0], columns=shape[1])
    require_room_for(model, shape)
    model.check_shape(shape)
    if isinstance(model, Undirected):
        return exactly(model, None, shape, seed)
    use_all_cores()
    with double_precision():
        key_state, key_parameters, key_data = jax.random.split(
            jax.random.key(seed, impl="threefry2x32"), 3
        )
        exact = _sample_prior(model, key_state, shape)
        parameters = None
        if isinstance(model, Collapsed):
            parameters = model.sample_parameters(key_parameters, exact, shape)
            y = model.sample_data(key_data, exact, parameters)
        else:
            y = model.simulate(key_data, exact, shape)
        if y.shape != shape:
            raise InputError(
                f"simulate of {type(model).__name__} was asked for data of shape {shape} and gave"
                f" {y.shape}"
            )
        exact, parameters = jax.tree.map(np.asarray, (exact, parameters))
        return Data(np.asarray(y), exact, parameters, _meta(model, seed))


def exactly(model: Undirected, y, shape, seed: int) -> Data:
    """The numbers y of an undirected model (its own where there are none) and an exact sample."""
    if reason := model.no_exact_sample(shape):
        raise InputError(reason)
    use_all_cores()
    with double_precision():
        key_state, _, key_data = jax.random.split(jax.random.key(seed, impl="threefry2x32"), 3)
        if y is None:
            y = np.asarray(model.instance(key_data, shape))
            model.check_data(y)
        draw = jax.tree.map(np.asarray, _sample_exact(model, key_state, y))
    if not draw.done:
        raise InputError(model.not_drawn(int(draw.steps)))
    return Data(y, draw.state, None, _meta(model, seed))


def stand_ins(model: Undirected, y, count: int):
    """Zeros in the place of ``exact_starts``, to compile for: drawing samples may take long."""
    if reason := model.no_exact_sample(y.shape):
        raise InputError(reason)
    with double_precision():
        state = jax.eval_shape(lambda key: model.sample_prior(key, y.shape), jax.random.key(0))
    return jax.tree.map(lambda a: np.zeros((count, *a.shape), a.dtype), state)


def exact_starts(model: Undirected, y, count: int, seed: int, look: int = 1):
    """Independent exact samples of an undirected model, one for each of ``count`` reverse chains,
    along a leading axis; others for every look."""
    if reason := model.no_exact_sample(y.shape):
        raise InputError(reason)
    with double_precision():
        key = jax.random.fold_in(jax.random.key(seed, impl="threefry2x32"), STARTS)
        keys = jax.random.split(jax.random.fold_in(key, look), count)
        draws = jax.tree.map(np.asarray, _sample_each(model, keys, y))
    if not np.all(draws.done):
        raise InputError(model.not_drawn(int(np.max(draws.steps))))
    return draws.state


@jax.jit
def _sample_exact(model: Undirected, key, y):
    return model.sample_exact(key, y)


@jax.jit
def _sample_each(model: Undirected, keys, y):
    return jax.vmap(lambda key: model.sample_exact(key, y))(keys)


def _meta(model: Model, seed: int) -> dict:
    return {
        "model": model_label(model),
        "hyperparameters": hyperparameters(model),
        "seed": seed,
        "version": __version__,
    }


def _simulate_factored(model: Factored, seed: int) -> Data:
    use_all_cores()
    with double_precision():
        key_state, _, key_data = jax.random.split(jax.random.key(seed, impl="threefry2x32"), 3)
        exact = _sample_prior(model, key_state, None)
        y = model.simulate(key_data, exact)
        y, exact = jax.tree.map(np.asarray, (y, exact))
        return Data(y, exact, None, _meta(model, seed))


@functools.partial(jax.jit, static_argnames="shape")
def _sample_prior(model: Model, key, shape):
    """Compiled as one, for a quick start. Data are drawn op by op: fused, their last bits would
    change."""
    return at_prior(model).sample_prior(key, shape)
