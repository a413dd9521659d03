"""BlackJAX, adaptive tempered SMC with Hamiltonian moves tuned to the particles.

The effective sample size falls by half at every step; masses follow the particles. It has no
default number of particles or moves: those of its tutorials, then four times as many of each.
Tempted: its init takes particles, and a user may put all of them where the data are.
"""

TOOL = "blackjax-smc"
FAMILY = "annealing and SMC"
PACKAGES = ["blackjax", "jax"]
LOCK = "blackjax.txt"
CLAIMS = "a value alone"
SPECIAL = {"start-at-the-data": {"particles": 1000, "moves": 5, "start": 3.0}}
LEAPFROG, STEP = 5, 0.3
SETTINGS = {
    "default": {"particles": 1000, "moves": 5},
    "accurate": {"particles": 4000, "moves": 20},
}


def load():
    import blackjax  # noqa: F401


def run(problem, settings, seed):
    import blackjax
    import jax
    import jax.numpy as jnp
    from blackjax.smc.resampling import systematic
    from blackjax.smc.tuning.from_particles import inverse_mass_matrix_from_particles

    def parameters(particles):
        mass = jnp.diagonal(inverse_mass_matrix_from_particles(particles))
        given = {
            "step_size": jnp.asarray(STEP),
            "inverse_mass_matrix": mass,
            "num_integration_steps": jnp.asarray(LEAPFROG),
        }
        return {name: value[None] for name, value in given.items()}

    sampler = blackjax.inner_kernel_tuning(
        smc_algorithm=blackjax.adaptive_tempered_smc,
        logprior_fn=problem.jax.log_prior,
        loglikelihood_fn=problem.jax.log_likelihood,
        mcmc_step_fn=blackjax.hmc.build_kernel(),
        mcmc_init_fn=blackjax.hmc.init,
        resampling_fn=systematic,
        mcmc_parameter_update_fn=lambda key, state, info: parameters(state.particles),
        initial_parameter_value={},
        num_mcmc_steps=settings["moves"],
        target_ess=0.5,
    )

    @jax.jit
    def whole(key):
        key, key_begin = jax.random.split(key)
        drawn = jax.vmap(problem.jax.sample_prior)(
            jax.random.split(key_begin, settings["particles"])
        )
        drawn = jnp.full_like(drawn, settings["start"]) if "start" in settings else drawn
        state = sampler.init(drawn)._replace(parameter_override=parameters(drawn))

        def step(carry):
            state, key, total, count = carry
            key, key_step = jax.random.split(key)
            state, info = sampler.step(key_step, state)
            return state, key, total + info.log_likelihood_increment, count + 1

        def unfinished(carry):
            return (carry[0].sampler_state.tempering_param < 1) & (carry[3] < 1000)

        carry = (state, key, jnp.zeros(()), 0)
        _, _, total, steps = jax.lax.while_loop(unfinished, step, carry)
        return total, steps

    value, steps = whole(jax.random.key(seed))
    calls = settings["particles"] * (1 + int(steps) * settings["moves"] * (LEAPFROG + 1))
    return {"log_z": float(value), "kind": "none", "calls": calls}
