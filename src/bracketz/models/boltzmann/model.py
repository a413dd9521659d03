"""RBM: a restricted Boltzmann machine, two layers of bits joined by weights; undirected.

    log f(v, h) = y_00 + sum_i a_i v_i + sum_j h_j (c_j + sum_i W_ji v_i),     v_i, h_j = 0 or 1

What is called data elsewhere, y, is the machine itself, (H + 1, V + 1), as if each layer had a unit
that is always on: row 0 holds the visible biases a, column 0 the hidden biases c, and the rest W;
y_00 is a constant of log f, usually 0. The base is p0(v, h) = p0(v) 2^-H, where visible unit i is
on with log-odds base_i: 0 (uniform), or those of the data's base rates (Salakhutdinov and Murray
2008). A row of y is a data point, and has a power:

    log f(v, h; b) = (1 - b_0) log p0(v) + b_0 (y_00 + a v) + sum_j [ b_j h_j (c_j + W_j v)
                     - (1 - b_j) log 2 ].

At b = 0 it is p0, at b = 1 it is f. Hidden units stay in the state: every probability of the sweep
is then known, and checked. Exact samples come from enumerating the smaller layer, up to 20 units;
a larger machine has none, and ``evidence`` gives it a conditional upper bound.
"""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.capabilities import Enumerable
from bracketz.core.kernel import Kernel
from bracketz.core.precision import double_precision
from bracketz.core.pytree import Array, pytree_dataclass
from bracketz.core.undirected import ExactDraw, Undirected
from bracketz.errors import InputError
from bracketz.models.boltzmann import layer
from bracketz.models.boltzmann.gibbs import LayerByLayer, bits, log_chance
from bracketz.models.boltzmann.state import Units

MAX_ENUMERATION = 2_000_000


@pytree_dataclass
class RBM(Undirected, Enumerable):
    """A restricted Boltzmann machine: log Z, certified on both sides where a layer is small.

    log f(v, h) = a v + c h + h W v on bits. y is the machine, an array (H + 1, V + 1): visible
    biases in row 0, hidden biases in column 0, weights W elsewhere, and a constant of log f at
    [0, 0] (``RBM.machine`` puts them together). A sweep costs O(V H).

    Args:
        base: log-odds of the visible units where the path begins: 0 (uniform), or (V,), such as
            those of the data's base rates (``RBM.base_rates``).
        scale: standard deviation of random weights and biases, where no machine is given.

    Raises:
        InputError: a value out of range.

    Example:
        >>> import bracketz as bz, numpy as np
        >>> machine = bz.RBM.machine(np.ones((2, 3)), visible_bias=np.zeros(3), hidden_bias=[-1, 0])
        >>> answer = bz.sandwich(bz.RBM(), machine, gap=0.5)
        >>> abs(answer.log_ml - bz.RBM().exact_evidence(machine)) < 0.2
        True
    """

    base: float | Array = 0.0
    scale: float = 1.0

    name = "rbm"
    default_shape = (9, 17)

    def __post_init__(self):
        if np.ndim(self.base):
            object.__setattr__(self, "base", np.asarray(self.base, dtype=float))
        if not np.all(np.isfinite(self.base)) or np.ndim(self.base) > 1:
            raise InputError("base must be a log-odds, or one for each visible unit")
        if not (np.ndim(self.scale) == 0 and 0 <= self.scale < np.inf):
            raise InputError(f"scale must be a number of at least 0, got {self.scale}")

    @staticmethod
    def machine(weights, visible_bias, hidden_bias) -> np.ndarray:
        """y of a machine.

        Args:
            weights: W, (H, V).
            visible_bias: a, (V,).
            hidden_bias: c, (H,).

        Returns:
            An array (H + 1, V + 1).
        """
        weights = np.asarray(weights, dtype=float)
        y = np.zeros((weights.shape[0] + 1, weights.shape[1] + 1))
        y[1:, 1:], y[0, 1:], y[1:, 0] = weights, visible_bias, hidden_bias
        return y

    @staticmethod
    def base_rates(visible, pseudo: float = 1.0) -> np.ndarray:
        """Log-odds of the share of ones in each column of training data.

        Args:
            visible: bits, (n, V).
            pseudo: ones and zeros added to each column, so that no rate is 0 or 1.

        Returns:
            A base, (V,).
        """
        on = np.sum(np.asarray(visible, dtype=float), axis=0) + pseudo
        return np.log(on) - np.log(len(visible) + 2 * pseudo - on)

    def check_shape(self, shape):
        if shape[1] < 2:
            raise InputError(
                f"a machine needs at least one visible unit, two columns of y, got {shape[1]}"
            )
        if np.ndim(self.base) == 1 and np.shape(self.base) != (shape[1] - 1,):
            raise InputError(
                f"base has {np.size(self.base)} log-odds, and the machine {shape[1] - 1} visible"
                " units"
            )

    def check_state(self, state):
        for name, units in state._asdict().items():
            if wrong := [u for u in np.ravel(units).tolist() if u not in (0, 1)]:
                raise InputError(f"a {name} unit is {wrong[0]}, and units are 0 or 1")

    def doubtful(self, y, states):
        return False  # nothing is kept between visits

    # The density and its base.

    def instance(self, key, shape):
        """A machine of normal weights and biases."""
        return self.scale * jax.random.normal(key, shape).at[0, 0].set(0.0)

    def _base(self, y):
        return jnp.broadcast_to(jnp.asarray(self.base, dtype=float), (y.shape[1] - 1,))

    def sample_prior(self, key, shape):
        key_visible, key_hidden = jax.random.split(key)
        base = jnp.broadcast_to(jnp.asarray(self.base, dtype=float), (shape[1] - 1,))
        return Units(bits(key_visible, base), bits(key_hidden, jnp.zeros(shape[0] - 1)))

    def rows(self, state, y):
        """What each row adds to log f(x; b) per unit of its power, (H + 1,)."""
        y = jnp.asarray(y)
        visible, hidden = state.visible.astype(float), state.hidden.astype(float)
        first = y[0, 0] + y[0, 1:] @ visible - log_chance(state.visible, self._base(y))
        others = hidden * (y[1:, 0] + y[1:, 1:] @ visible) + jnp.log(2.0)
        return jnp.append(first, others)

    def log_annealed(self, state, y, powers):
        base = log_chance(state.visible, self._base(y)) - state.hidden.size * jnp.log(2.0)
        return base + jnp.sum(powers * self.rows(state, y))

    def log_increment(self, state, y, after, before):
        return jnp.sum((after - before) * self.rows(state, y))

    def log_visible(self, visible, y):
        """log f of visible units with the hidden ones summed out.

        Args:
            visible: bits, (V,).
            y: the machine.

        Returns:
            log sum over h of f(v, h).
        """
        y, visible = jnp.asarray(y), jnp.asarray(visible, dtype=float)
        inputs = y[1:, 0] + y[1:, 1:] @ visible
        return y[0, 0] + y[0, 1:] @ visible + jnp.sum(jax.nn.softplus(inputs))

    def complete(self, key, visible, y):
        """A state with these visible units and hidden ones drawn given them.

        Args:
            key: a JAX random key.
            visible: bits, (V,).
            y: the machine.

        Returns:
            The state.
        """
        kernel = self._gibbs(jnp.asarray(y), jnp.ones(y.shape[0]))
        return Units(visible.astype(jnp.int8), bits(key, kernel.hidden_logits(visible)))

    def kernel(self, y, powers) -> Kernel:
        return self._gibbs(y, powers)

    def _gibbs(self, y, powers) -> LayerByLayer:
        visible_bias = (1 - powers[0]) * self._base(y) + powers[0] * y[0, 1:]
        each = powers[1:]
        return LayerByLayer(visible_bias, each * y[1:, 0], each[:, None] * y[1:, 1:])

    # Truth.

    def no_exact_sample(self, shape):
        hidden, visible = (length - 1 for length in shape)
        if min(hidden, visible) <= layer.MOST_UNITS:
            return None
        return (
            f"a machine of {visible} visible and {hidden} hidden units has no layer of at most"
            f" {layer.MOST_UNITS} to enumerate, hence no exact sample: take bracketz evidence with"
            " `twins=0`, whose upper bound is conditional"
        )

    def sample_exact(self, key, y) -> ExactDraw:
        y = jnp.asarray(y)
        a, c, w = y[0, 1:], y[1:, 0], y[1:, 1:]
        kernel = self._gibbs(y, jnp.ones(y.shape[0]))
        first, second = jax.random.split(key)
        if len(c) <= len(a):
            hidden = layer.draw(first, c, a, w)
            state = Units(bits(second, kernel.visible_logits(hidden)), hidden)
        else:
            visible = layer.draw(first, a, c, w.T)
            state = Units(visible, bits(second, kernel.hidden_logits(visible)))
        return ExactDraw(state, True, 2 ** min(len(a), len(c)))

    def exact_evidence(self, y):
        """Over all states of the smaller layer."""
        if reason := self.no_exact_sample(np.shape(y)):
            raise InputError(reason.partition(", hence")[0])
        with double_precision():
            return float(_log_partition(jnp.asarray(y, dtype=float)))

    def nodes(self, shape):
        n = shape[0] + shape[1] - 2
        if 2**n > MAX_ENUMERATION:
            raise InputError(f"2^{n} states are too many to enumerate; take a smaller machine")
        every = np.indices((2,) * n, dtype=np.int8).reshape(n, -1).T
        return Units(every[:, : shape[1] - 1], every[:, shape[1] - 1 :]), 0.0

    def tiny(self):
        return dataclasses.replace(self, base=0.4, scale=0.9), (3, 4)


@jax.jit
def _log_partition(y):
    a, c, w = y[0, 1:], y[1:, 0], y[1:, 1:]
    small = (c, a, w) if len(c) <= len(a) else (a, c, w.T)
    return y[0, 0] + jax.nn.logsumexp(layer.log_weights(*small))
