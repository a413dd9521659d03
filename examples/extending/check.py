"""A check: rows of power 0 must be out of sight.

f(x; b) = p(x) prod_i p(y_i | x)^(b_i) does not depend on row i where b_i = 0. A density that first
looks at all of y (centred columns, a scale taken from the data) breaks this, although it is linear
in the powers and its kernel may well agree with it.
"""

import jax
import jax.numpy as jnp

import bracketz as bz


def simulated(model, key, shape):
    """A prior draw and data from it."""
    state_key, data_key = jax.random.split(key)
    state = model.sample_prior(state_key, shape)
    return state, model.simulate(data_key, state, shape)


def look(subject):
    """Other numbers in the rows of power 0 must not move a density, which must be finite."""
    cases = []
    for label, model, shape in subject.instances:
        rows, density = shape[0], jax.jit(model.log_annealed)
        draw = jax.jit(lambda key, model=model, shape=shape: simulated(model, key, shape))
        for key in jax.random.split(subject.key("unseen.rows"), 4):
            (state, y), (_, other) = map(draw, jax.random.split(key))
            for seen in range(rows):
                powers = jnp.where(jnp.arange(rows) < seen, 0.7, 0.0)
                changed = jnp.where(powers[:, None] > 0, y, other)
                before = float(density(state, y, powers))
                after = float(density(state, changed, powers))
                sentence = (
                    f"new numbers in the {rows - seen} rows of power 0 move log_annealed by "
                    f"{after - before:.2g} nats, from {before:.6g} at powers 0.7 for the first "
                    f"{seen} rows ({label}, {shape[0]} x {shape[1]} data)."
                )
                cases.append(bz.check.Discrepancy(abs(after - before), sentence))
    return bz.check.worst(cases, "the instances have no rows")


UNSEEN = bz.check.Check(
    "unseen.rows",
    bz.check.Kind.EXACT,
    "the density looks at rows of power 0, for instance because it centres the data.",
    look,
)


@bz.pytree_dataclass
class CentredClustering(bz.Clustering):
    """Deliberately wrong: density and kernel both centre the columns first."""

    def log_annealed(self, state, y, powers):
        """The density of other data than those given."""
        return super().log_annealed(state, y - y.mean(0), powers)

    def kernel(self, y, powers):
        """A kernel that goes with it."""
        return super().kernel(y - y.mean(0), powers)


if __name__ == "__main__":
    for model in (bz.Clustering(components=2), CentredClustering(components=2)):
        report = bz.check.run(model, level="quick", only="unseen", more=(UNSEEN,))
        print(f"passed: {report.passed}. {report}")
        print(f"  seen: {report.results[-1].detail}")
