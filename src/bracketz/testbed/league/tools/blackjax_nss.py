"""BlackJAX, nested slice sampling (blackjax.nss).

Its docstring asks for at least max(5, 2 D) slice steps for each new particle; it stops where the
live points hold less than exp(-3) of the evidence. Its init takes live points; tempted: all of them
where the data are.
"""

TOOL = "blackjax-nss"
FAMILY = "nested sampling"
PACKAGES = ["blackjax", "jax"]
LOCK = "blackjax.txt"
SETTINGS = {
    "default": {"live": 500, "steps_per_dimension": 2},
    "accurate": {"live": 2000, "steps_per_dimension": 5},
}
SPECIAL = {"start-at-the-data": {"live": 500, "steps_per_dimension": 2, "start": 3.0}}
LEFT = -3.0


def load():
    import blackjax  # noqa: F401


def run(problem, settings, seed):
    import blackjax
    import jax
    import jax.numpy as jnp
    from blackjax.ns.integrator import init_integrator, update_integrator
    from blackjax.ns.utils import finalise, log_weights

    live = settings["live"]
    algorithm = blackjax.nss(
        logprior_fn=problem.jax.log_prior,
        loglikelihood_fn=problem.jax.log_likelihood,
        num_inner_steps=max(5, settings["steps_per_dimension"] * problem.dimension),
        num_delete=max(1, live // 10),
    )
    key, key_begin = jax.random.split(jax.random.key(seed))
    drawn = jax.vmap(problem.jax.sample_prior)(jax.random.split(key_begin, live))
    drawn = jnp.full_like(drawn, settings["start"]) if "start" in settings else drawn
    state = jax.jit(algorithm.init)(drawn)
    integrator = init_integrator(state.particles)

    @jax.jit
    def step(key, state, integrator):
        state, info = algorithm.step(key, state)
        return state, info, update_integrator(integrator, state.particles, info.particles)

    dead = []
    while float(integrator.logZ_live - integrator.logZ) > LEFT or not dead:
        key, key_step = jax.random.split(key)
        state, info, integrator = step(key_step, state, integrator)
        dead.append(info)
    every = finalise(state, dead, update_info=False)
    values = jax.scipy.special.logsumexp(log_weights(key, every, shape=200), axis=0)
    return {
        "log_z": float(jnp.mean(values)),
        "error": float(jnp.std(values)),
        "kind": "error bar",
    }
