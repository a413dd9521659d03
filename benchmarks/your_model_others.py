"""What others offer for a log evidence: sequential Monte Carlo of PyMC and of BlackJAX.

Both give one number, which falls short of log p(y) on average by an amount that nothing says: no
upper bound and no certificate. Each function gives (log evidence, seconds).
"""

import logging
import time
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.precision import double_precision
from bracketz.models.factored.model import Flattening

PARTICLES = 1000
#: Of BlackJAX: leapfrog steps of a trajectory, trajectories of a stage, step size in units of the
#: particles' standard deviations.
LEAPFROG, MOVES, STEP = 5, 5, 0.3


def pymc_smc(model, y, seed: int) -> tuple[float, float]:
    """``pm.sample_smc`` as it comes: 1000 draws, 2 chains one after the other; the mean of their
    log evidences. Compilation by PyTensor is part of every call, and of the seconds."""
    import pymc as pm

    logging.getLogger("pymc").setLevel(logging.ERROR)
    began = time.perf_counter()
    with warnings.catch_warnings(), model.in_pymc(y):
        warnings.simplefilter("ignore")
        trace = pm.sample_smc(
            draws=PARTICLES,
            chains=2,
            cores=1,
            random_seed=seed,
            progressbar=False,
            compute_convergence_checks=False,
        )
    last = [_last(chain) for chain in np.atleast_2d(_chains(trace))]
    values = np.array(last)
    best = values.max()
    return float(best + np.log(np.mean(np.exp(values - best)))), time.perf_counter() - began


def _chains(trace) -> np.ndarray:
    return np.asarray(trace.sample_stats["log_marginal_likelihood"].values)


def _last(chain) -> float:
    """The last stage's value: the ones before are of tempered likelihoods."""
    values = np.concatenate([np.atleast_1d(np.asarray(v, float)) for v in np.atleast_1d(chain)])
    return float(values[np.isfinite(values)][-1])


class BlackJAX:
    """Adaptive tempered SMC with HMC: half the effective sample size, diagonal masses from the
    particles. Compiled once for all data sets of a problem."""

    def __init__(self, model: Any):
        self.compiled = jax.jit(lambda y, key: _blackjax(model, y, key))

    def __call__(self, y, seed: int) -> tuple[float, float]:
        with double_precision():
            began = time.perf_counter()
            key = jax.random.key(seed, impl="threefry2x32")
            value = float(jax.block_until_ready(self.compiled(y, key)))
            return value, time.perf_counter() - began


def _blackjax(model, y, key):
    import blackjax
    from blackjax.smc.resampling import systematic
    from blackjax.smc.tuning.from_particles import inverse_mass_matrix_from_particles

    flat = Flattening(model)

    def masses(particles):
        return jnp.diagonal(inverse_mass_matrix_from_particles(particles))

    def parameters(particles):
        given = {
            "step_size": jnp.asarray(STEP),
            "inverse_mass_matrix": masses(particles),
            "num_integration_steps": jnp.asarray(LEAPFROG),
        }
        return {name: value[None] for name, value in given.items()}  # the same for all particles

    sampler = blackjax.inner_kernel_tuning(
        smc_algorithm=blackjax.adaptive_tempered_smc,
        logprior_fn=lambda v: model.log_prior(flat.join(v)),
        loglikelihood_fn=lambda v: jnp.sum(model.log_likelihood(flat.join(v), y)),
        mcmc_step_fn=blackjax.hmc.build_kernel(),
        mcmc_init_fn=blackjax.hmc.init,
        resampling_fn=systematic,
        mcmc_parameter_update_fn=lambda key, state, info: parameters(state.particles),
        initial_parameter_value={},
        num_mcmc_steps=MOVES,
        target_ess=0.5,
    )
    key, key_begin = jax.random.split(key)
    drawn = jax.vmap(lambda k: flat.split(model.sample_prior(k))[0])(
        jax.random.split(key_begin, PARTICLES)
    )
    state = sampler.init(drawn)._replace(parameter_override=parameters(drawn))

    def step(carry):
        state, key, total = carry
        key, key_step = jax.random.split(key)
        state, info = sampler.step(key_step, state)
        return state, key, total + info.log_likelihood_increment

    def unfinished(carry):
        return carry[0].sampler_state.tempering_param < 1

    return jax.lax.while_loop(unfinished, step, (state, key, jnp.zeros(())))[2]
