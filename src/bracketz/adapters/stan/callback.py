"""The way from JAX to Stan and back: callbacks, a whole batch each, and their derivatives."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.adapters.stan.split import Split


def real():
    return jnp.result_type(float)


def whole():
    return jnp.result_type(int)


def seeds(key, purpose: int):
    """Two words for Stan's generator; a prior draw and data of one key do not share them."""
    return jax.random.bits(jax.random.fold_in(key, purpose), (2,), "uint32")


def call(function, out, *arguments):
    """``function`` on NumPy arrays, a whole batch at a time.

    Numbers of 64 bits travel as pairs of words: JAX calls back from threads of its own, where
    ``double_precision`` is not in force, and would halve them there.
    """
    types = jax.tree.map(jnp.result_type, arguments)

    def on_words(*words):
        found = function(*jax.tree.map(from_words, words, types))
        return jax.tree.map(lambda v, o: to_words(np.asarray(v, o.dtype)), found, out)

    words = jax.tree.map(
        lambda v: jax.lax.bitcast_convert_type(v, "uint32") if wide(v) else v, arguments
    )
    found = jax.pure_callback(
        on_words,
        jax.tree.map(
            lambda o: jax.ShapeDtypeStruct((*o.shape, 2), "uint32") if wide(o) else o, out
        ),
        *words,
        vmap_method="expand_dims",
    )
    return jax.tree.map(
        lambda v, o: jax.lax.bitcast_convert_type(v, o.dtype) if wide(o) else v, found, out
    )


def wide(value) -> bool:
    return value.dtype.itemsize == 8


def to_words(value: np.ndarray) -> np.ndarray:
    """(..., 2) words of numbers of 64 bits; others as they are."""
    return np.asarray(value, order="C")[..., None].view(np.uint32) if wide(value) else value


def from_words(words, dtype) -> np.ndarray:
    """The inverse of ``to_words``."""
    words = np.asarray(words, order="C")
    return words.view(dtype)[..., 0] if dtype.itemsize == 8 else words


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def log_prior(split: Split, x):
    """log p(x); its gradient is Stan's."""
    return call(split.log_prior, jax.ShapeDtypeStruct((), x.dtype), x)


@log_prior.defjvp
def log_prior_jvp(split, primals, tangents):
    (x,) = primals
    out = (jax.ShapeDtypeStruct((), x.dtype), jax.ShapeDtypeStruct(x.shape, x.dtype))
    value, gradient = call(split.log_prior_gradient, out, x)
    return value, gradient @ tangents[0]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def terms(split: Split, x, y):
    """(2,): log p(x) and log p(y | x) in one visit; their gradients in x are Stan's."""
    return call(split.terms, jax.ShapeDtypeStruct((2,), x.dtype), x, *y)


@terms.defjvp
def terms_jvp(split, primals, tangents):
    x, y = primals
    out = (jax.ShapeDtypeStruct((2,), x.dtype), jax.ShapeDtypeStruct((2, *x.shape), x.dtype))
    value, gradients = call(split.terms_gradient, out, x, *y)
    return value, gradients @ tangents[0]
