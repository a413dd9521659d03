"""The fused sweeps against the plain scan, in Pallas's interpreter: the same draws from the same
noise."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import BinaryAttributes, Clustering, simulate
from bracketz.check import selftest
from bracketz.models.binary_attributes import gibbs, lanes
from bracketz.numerics import pallas as fused
from tiny_instances import power_rows

MODELS = [
    Clustering(components=5, mixture=np.array([0.3, 0.1, 0.2, 0.15, 0.25])),
    BinaryAttributes(components=3, attribute_probability=np.array([0.3, 0.6, 0.5])),
]


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
@pytest.mark.parametrize("powers_index", range(4))  # zeros, ones, 0.37, and mixed
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_fused_sweep_is_the_plain_one(model, powers_index, backward, monkeypatch):
    same_draws(model, powers_index, backward, "chain per warp", monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("backward", [False, True])
def test_a_chain_in_each_lane_draws_the_same(backward, monkeypatch):
    monkeypatch.setattr(lanes, "MANY", 2)
    same_draws(MODELS[1], 3, backward, "chain per lane", monkeypatch)


@functools.partial(jax.jit, static_argnames=("backward", "sweep"))
def drawn(model, y, powers, backward, sweep):
    """(latents before, after) of six chains; ``sweep`` says what is switched on: a program each."""
    kernel = dataclasses.replace(model.kernel(y, powers), backward=backward)
    states = jax.vmap(lambda key: model.sample_prior(key, y.shape))(
        jax.random.split(jax.random.key(0), 6)
    )
    latents = jax.vmap(kernel.latents)(states)
    noise = jax.vmap(kernel.noise)(jax.random.split(jax.random.key(1), 6), latents)
    return latents, jax.vmap(kernel.draw)(latents, noise)


def same_draws(model, powers_index, backward, sweep, monkeypatch):
    """Six chains, all latents equal: a draw differs only where a uniform falls within rounding of a
    boundary."""
    y, powers = simulate(model, 9, 4, seed=3).y, np.asarray(power_rows(9)[powers_index])
    latents, plain = map(np.asarray, drawn(model, y, powers, backward, "plain"))
    monkeypatch.setattr(fused, "interpret", True)
    _, found = drawn(model, y, powers, backward, sweep)
    np.testing.assert_array_equal(found, plain)
    assert not np.array_equal(plain, latents)


@pytest.mark.slow
@pytest.mark.parametrize("of_their_own", [False, True], ids=["data shared", "data of their own"])
def test_fused_bits_of_many_data_sets(of_their_own, monkeypatch):
    """Members of a batch, each with chains (``engine.abreast``); chains with data of their own."""
    model = BinaryAttributes(components=3, attribute_probability=np.array([0.3, 0.6, 0.5]))
    ys = np.stack([simulate(model, 7, 4, seed=seed).y for seed in (3, 4)])
    powers, chains = np.asarray(power_rows(7)[3]), 40  # more than a warp has lanes

    def draws(y, key):
        kernel = model.kernel(y, powers)

        def one(key):
            state = model.sample_prior(key, y.shape)
            latents = kernel.latents(state)
            return kernel.draw(latents, kernel.noise(jax.random.fold_in(key, 1), latents))

        return one(key) if of_their_own else jax.vmap(one)(jax.random.split(key, chains))

    keys = jax.random.split(jax.random.key(0), 2)
    plain = np.asarray(jax.jit(lambda: jax.vmap(draws)(ys, keys))())
    monkeypatch.setattr(lanes, "MANY", 2)
    monkeypatch.setattr(fused, "interpret", True)
    np.testing.assert_array_equal(jax.jit(lambda: jax.vmap(draws)(ys, keys))(), plain)


@pytest.mark.slow
def test_the_selftest_compares_them_on_the_machine_it_runs_on(monkeypatch):
    def verdict():
        (found,) = selftest.run(level="quick", only="sweeps.fused").results
        return found.passed, found.detail

    assert verdict()[0] is None  # no graphics card
    monkeypatch.setattr(fused, "interpret", True)
    monkeypatch.setattr(lanes, "MANY", 40)
    assert verdict()[0] is True
    # Every chain with the noise of another.
    right = lanes.call_lanes
    monkeypatch.setattr(
        lanes,
        "call_lanes",
        lambda body, out, dtype, shared, of_chains: right(
            body, out, dtype, shared, (*of_chains[:-1], of_chains[-1][..., ::-1])
        ),
    )
    jax.clear_caches()
    passed, said = verdict()
    assert passed is False and "of 40 chains differ (BinaryAttributes" in said


def test_few_chains_go_by_warps():
    assert lanes.chosen(lanes.MANY, 50, 10) and not lanes.chosen(lanes.MANY - 1, 50, 10)
    assert not lanes.chosen(10**6, 50, 11) and not lanes.chosen(10**6, 2001, 10)


@pytest.mark.parametrize("row_update", ["flips", "whole"])
def test_other_row_updates_are_not_fused(row_update, monkeypatch):
    """The fused sweep draws bit by bit; these have other laws."""
    model = BinaryAttributes(components=3, row_update=row_update)
    data = simulate(model, 5, 4, seed=3)
    powers = np.asarray(power_rows(5)[1])

    def draw():
        kernel = model.kernel(data.y, powers)
        latents = jnp.asarray(kernel.latents(data.exact))
        return kernel.draw(latents, kernel.noise(jax.random.key(1), latents))

    plain = np.asarray(jax.jit(lambda: draw())())
    monkeypatch.setattr(fused, "interpret", True)
    np.testing.assert_array_equal(jax.jit(lambda: draw())(), plain)
    monkeypatch.setattr(gibbs, "binary_draw", None)
    jax.eval_shape(lambda: draw())


def test_fused_only_on_a_gpu_and_within_registers(monkeypatch):
    assert not fused.chosen(10, 25)  # the tests run on a CPU
    monkeypatch.setattr(fused, "interpret", True)
    assert fused.chosen(10, 25) and not fused.chosen(10, 2000) and not fused.chosen(200, 10)
