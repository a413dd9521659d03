"""PyMC and PyTensor by the names they have in the version at hand; used once PyMC is installed.

``jax_function`` turns a PyTensor graph into a JAX function, ``host_function`` compiles one for the
host. What PyMC 5 and 6 do differently is decided here and nowhere else:

- ``pymc.sampling.jax`` is never imported: it asks XLA for a hundred CPU devices and drops other
  flags. What it adds to PyTensor's converter is one operation (``PosDefMatrix``), which PyMC 6 no
  longer has.
- PyTensor's converter sets JAX's global precision when it is imported; that is put back.
- PyTensor 3 compiles by Numba unless told otherwise, PyTensor 2 by C. Draws are made by plain
  Python calls of NumPy (``linker="py"``): ready in hundredths of a second, and as fast.
"""

import functools
import importlib.util
import math
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pymc
import pytensor
from pymc.distributions import transforms
from pymc.logprob.basic import transformed_conditional_logp as transformed_conditional_logp
from pymc.logprob.utils import replace_rvs_by_values as replace_rvs_by_values
from pytensor.compile.mode import Mode, get_mode
from pytensor.compile.sharedvalue import SharedVariable as SharedVariable
from pytensor.graph.fg import FunctionGraph
from pytensor.graph.replace import clone_replace as clone_replace
from pytensor.graph.traversal import ancestors as ancestors
from pytensor.graph.traversal import graph_inputs as graph_inputs
from pytensor.link.utils import fgraph_to_python
from pytensor.scalar.math import Erfcx
from pytensor.tensor.random.type import RandomType as RandomType
from pytensor.tensor.type import TensorType as TensorType
from scipy.special import gammaln

from bracketz.core.precision import double_precision

#: PyMC 6 has frozen models beside ``pm.Model``; both are ``BaseModel``.
MODEL = getattr(pymc.model.core, "BaseModel", pymc.Model)
#: Priors without a density.
IMPROPER = (type(pymc.Flat.rv_op), type(pymc.HalfFlat.rv_op))
#: What makes a likelihood one of a part of the data, by the names of PyTensor operations.
MINIBATCH = {"MinibatchOp", "MinibatchRandomVariable"}
#: The law of correlation matrices, by the names of PyTensor operations.
LKJ_CORRELATION, LKJ_CHOLESKY = "LKJCorrRV", "_LKJCholeskyCovRV"
CIRCULAR = type(transforms.circular)

_IN_PYTHON = Mode(linker="py", optimizer="fast_compile").including("random_make_inplace")


def default_transform(rv) -> Any:
    """The transform PyMC gives a variable whose author asks for none."""
    return transforms._default_transform(rv.owner.op, rv)


def density_correction(rv) -> float:
    """What must be added to PyMC's log density of a variable for it to be normalised.

    PyMC (5.28 and 6.3) adds the log of LKJ's integral, log Z, where it should subtract it. What it
    adds is read off at the identity matrix, where everything else is the density of the standard
    deviations: the correction is 0 once PyMC is right.
    """
    if type(rv.owner.op).__name__ != LKJ_CHOLESKY:
        return 0.0
    size, shape, deviations = rv.owner.inputs[-3:]
    n, eta = int(evaluate(size)), float(evaluate(shape))
    at_identity = pymc.logp(rv, np.eye(n)[np.tril_indices(n)], warn_rvs=False)
    rest = pymc.logp(deviations, np.ones(n), warn_rvs=False).sum()
    k = np.arange(1, n)
    log_z = np.sum(
        0.5 * k * math.log(math.pi)
        + gammaln(eta + 0.5 * (n - 1 - k))
        - gammaln(eta + 0.5 * (n - 1))
    )
    return -float(log_z) - float(evaluate(at_identity - rest))


def host_function(
    inputs: Sequence, outputs: Sequence, *, rngs: Sequence = (), check_bounds: bool = True
) -> Callable:
    """A PyTensor function in plain Python; generators come first, and are used up."""
    generators: list[Any] = [pytensor.In(rng, mutable=True) for rng in rngs]
    mode = _IN_PYTHON.including(_rule(check_bounds))
    # The bodies of loops are compiled as the configuration says.
    with pytensor.config.change_flags(linker="py"):
        return pytensor.function(
            [*generators, *inputs], list(outputs), mode=mode, on_unused_input="ignore"
        )


def evaluate(variable) -> np.ndarray:
    """The value of a graph without inputs."""
    return np.asarray(host_function([], [variable])()[0])


def constant(shared) -> Any:
    """The value a shared variable has now, for good; its shape is known then."""
    return pytensor.tensor.constant(shared.get_value(), name=shared.name, dtype=shared.dtype)


def float64():
    """PyTensor's own constants in double precision, whatever the user's setting is."""
    return pytensor.config.change_flags(floatX="float64")


def jax_function(inputs: Sequence, outputs: Sequence, check_bounds: bool) -> Callable:
    """A JAX function: arrays in the order of ``inputs`` -> a tuple in the order of ``outputs``.

    Parameters outside their range give a density of -inf, as in PyMC (unless the author has said
    ``check_bounds=False``).
    """
    graph = FunctionGraph(inputs=list(inputs), outputs=list(outputs), clone=True)
    convert, typify = _converter()
    get_mode("JAX").including(_rule(check_bounds)).optimizer.rewrite(graph)

    def convert_exactly(op, node=None, **kwargs):
        return _in_float64(convert(op, node=node, **kwargs), node)

    with warnings.catch_warnings(), double_precision():  # constants become JAX arrays here
        warnings.filterwarnings("ignore", message="Skipping")
        return fgraph_to_python(graph, convert_exactly, type_conversion_fn=typify)


def _rule(check_bounds: bool) -> str:
    """What becomes of the checks of parameters in densities, by PyTensor's name of the rewrite."""
    if check_bounds:
        return "local_check_parameter_to_ninf_switch"
    return "local_remove_check_parameter"


def _in_float64(function: Callable, node) -> Callable:
    """The function of a node with results of the type PyTensor says they have.

    PyTensor writes 0.0 and -inf as float32, and its zeros are of JAX's weak type, which gives way
    to float32: without this, part of pm.LKJCholeskyCov's density has seven digits.
    """
    exact = [isinstance(v.type, TensorType) and v.dtype == "float64" for v in node.outputs]
    if not any(exact):
        return function

    def in_float64(*arguments):
        results = function(*arguments)
        if not isinstance(results, list | tuple):
            return jnp.asarray(results, jnp.float64)
        return tuple(
            jnp.asarray(r, jnp.float64) if yes else r for r, yes in zip(results, exact, strict=True)
        )

    return in_float64


@functools.cache
def _converter() -> tuple[Callable, Callable]:
    thread = threading.Thread(target=_import_converter)  # it sees the global precision
    thread.start()
    thread.join()
    from pytensor.link.jax.dispatch import jax_funcify, jax_typify

    multivariate = pymc.distributions.multivariate
    if hasattr(multivariate, "PosDefMatrix"):  # PyMC 5

        @jax_funcify.register(multivariate.PosDefMatrix)
        def _(op, **kwargs):
            return lambda matrix: jnp.all(jnp.isfinite(jnp.linalg.cholesky(matrix)))

    if importlib.util.find_spec("tensorflow_probability") is None:  # PyTensor would use it
        jax_funcify.register(Erfcx)(lambda op, **kwargs: erfcx)
    return jax_funcify, jax_typify


def erfcx(x):
    """exp(x^2) erfc(x), for the tails of normal distributions (pm.Censored, pm.Truncated).

    From 26 on, where erfc is nearly 0, its asymptotic series in 1 / (2 x^2).
    """
    near, far = jnp.minimum(x, 26.0), jnp.maximum(x, 26.0)
    r = 0.5 / (far * far)
    series = 1 - r * (1 - 3 * r * (1 - 5 * r * (1 - 7 * r * (1 - 9 * r * (1 - 11 * r)))))
    direct = jnp.exp(near * near) * jax.scipy.special.erfc(near)
    return jnp.where(x < 26.0, direct, series / (far * math.sqrt(math.pi)))


def _import_converter() -> None:
    before = jax.config.values["jax_enable_x64"]
    import pytensor.link.jax.dispatch  # noqa: F401

    jax.config.update("jax_enable_x64", before)
