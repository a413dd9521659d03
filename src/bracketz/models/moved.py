"""A model moved by somebody else's kernel."""

from collections.abc import Callable

from bracketz.core.kernel import Kernel
from bracketz.core.model import Model
from bracketz.core.pytree import pytree_dataclass, static
from bracketz.models.factored import Factored
from bracketz.numerics.noise import plain


@pytree_dataclass
class Moved(Model):
    """``model`` with the kernel that ``move(model, y, powers)`` gives; everything else its own."""

    model: Model
    move: Callable[..., Kernel] = static()

    def sample_prior(self, key, shape):
        own = plain(key) if isinstance(self.model, Factored) else key
        return self.model.sample_prior(own, shape)

    def simulate(self, key, state, shape):
        return self.model.simulate(key, state, shape)

    def log_annealed(self, state, y, powers):
        return self.model.log_annealed(state, y, powers)

    def log_increment(self, state, y, after, before):
        return self.model.log_increment(state, y, after, before)

    def kernel(self, y, powers) -> Kernel:
        return self.move(self.model, y, powers)

    def num_rows(self, y):
        return self.model.num_rows(y)

    def data_shape(self, y):
        return self.model.data_shape(y)

    def doubtful(self, y, states):
        return False  # nothing is known of its caches
