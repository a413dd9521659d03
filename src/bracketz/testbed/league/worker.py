"""What runs inside a tool's own environment: one tool, on one data set of one problem.

    python worker.py JOB.json

A script of its own: it imports NumPy, SciPy where a transform asks for it, and what the tool's file
imports; never bracketz. The job names a problem's file, a data file (.npz), a tool's file, settings
and a seed; the answer goes into a JSON file. An exception is an answer, too. The job never holds
the truth, nor the parameters that made the data.
"""

import importlib.util
import json
import logging
import math
import os
import resource
import sys
import time
import traceback
import warnings
from importlib import metadata

import numpy as np

#: Words of a warning that a row keeps.
LONGEST = 400


class Mathematics:
    """NumPy's functions, or ``jax.numpy``'s, and a few more, under one name: a problem writes each
    formula once, and it holds for one point or many, in NumPy and in JAX."""

    def __init__(self, namespace, special):
        self.np = namespace
        self.linalg = namespace.linalg
        self._special = special

    def __getattr__(self, name):
        return getattr(self.np, name)

    def ndtri(self, u):
        """The standard normal's quantile."""
        return self._special().ndtri(u)

    def ndtr(self, x):
        """The standard normal's distribution function."""
        return self._special().ndtr(x)

    def gammaln(self, x):
        return self._special().gammaln(x)

    def logsumexp(self, x):
        """Over the last axis."""
        top = self.np.max(x, axis=-1, keepdims=True)
        return self.np.log(self.np.sum(self.np.exp(x - top), axis=-1)) + top[..., 0]

    def normal(self, x, mean=0.0, scale=1.0):
        """The normal log density."""
        z = (x - mean) / scale
        return -0.5 * z * z - self.np.log(scale) - 0.5 * math.log(2 * math.pi)

    def log_sigmoid(self, x):
        return -self.np.logaddexp(0.0, -x)

    def half_cauchy_of_log(self, log_x, scale):
        """The log density of log x, x half-Cauchy: the Jacobian of the logarithm is in it."""
        log_z = log_x - math.log(scale)
        return math.log(2 / math.pi) + log_z - self.np.logaddexp(0.0, 2 * log_z)


def numpy_mathematics():
    def special():
        import scipy.special

        return scipy.special

    return Mathematics(np, special)


def jax_mathematics():
    import jax.numpy
    import jax.scipy.special

    return Mathematics(jax.numpy, lambda: jax.scipy.special)


class Problem:
    """A problem with its data, as a tool sees it. States are vectors of real numbers, each of which
    may take any value; every function takes one, (D,), or many, (..., D).

    Attributes:
        name: of the problem.
        dimension: D.
        calls: likelihood evaluations so far, by NumPy.
    """

    def __init__(self, name, module, y, c):
        self.name, self.y, self.c, self.calls = name, y, c, 0
        self._module, self._m = module, numpy_mathematics()
        self.dimension = int(module.dimension(c))
        self._jax = None

    def log_likelihood(self, theta):
        """log p(y | theta): one number for one point, (...) for many."""
        theta = np.asarray(theta, float)
        value = self._module.log_likelihood(theta, self.y, self.c, self._m)
        self.calls += int(np.prod(theta.shape[:-1]))
        return float(value) if theta.ndim == 1 else value

    def log_prior(self, theta):
        """The prior's log density, normalised."""
        value = self._module.log_prior(np.asarray(theta, float), self.c, self._m)
        return float(value) if np.ndim(theta) == 1 else value

    def prior_transform(self, u):
        """From the unit cube to the prior."""
        return self._module.prior_transform(np.asarray(u, float), self.c, self._m)

    def sample_prior(self, rng, count):
        """(count, D) independent draws."""
        return self.prior_transform(rng.uniform(size=(count, self.dimension)))

    @property
    def jax(self):
        """The same in JAX, in double precision."""
        if self._jax is None:
            self._jax = JaxProblem(self)
        return self._jax


class JaxProblem:
    """A problem's functions for JAX: one point at a time (``jax.vmap`` makes them many), traceable,
    differentiable. JAX knows how many calls a program made only if the tool says it."""

    def __init__(self, problem):
        import jax

        jax.config.update("jax_enable_x64", True)
        self._module, self.dimension = problem._module, problem.dimension
        self._m = jax_mathematics()
        with jax.ensure_compile_time_eval():  # arrays, also if somebody is tracing
            self._y = {name: jax.numpy.asarray(a) for name, a in problem.y.items()}
            self._c = {name: jax.numpy.asarray(a) for name, a in problem.c.items()}

    def log_likelihood(self, theta):
        return self._module.log_likelihood(theta, self._y, self._c, self._m)

    def log_prior(self, theta):
        return self._module.log_prior(theta, self._c, self._m)

    def prior_transform(self, u):
        return self._module.prior_transform(u, self._c, self._m)

    def sample_prior(self, key):
        import jax

        # Never 0, which has no quantile.
        u = jax.random.uniform(key, (self.dimension,), minval=1e-300)
        return self.prior_transform(u)


def load(path):
    """A file as a module."""
    name = os.path.splitext(os.path.basename(path))[0].replace("-", "_")
    spec = importlib.util.spec_from_file_location(f"league_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read_data(path):
    """(y, c) of a data file: the observations and the problem's constants."""
    with np.load(path, allow_pickle=False) as file:
        parts = {"y": {}, "c": {}}
        for key in file.files:
            part, name = key.split(".", 1)
            parts[part][name] = file[key]
    return parts["y"], parts["c"]


class Compilations:
    """Seconds by the clock during which JAX was compiling something in this process. (Tracing is
    not in them: it is part of a run's seconds.)"""

    def __init__(self):
        self._spans = []

    def listen(self):
        import jax.monitoring

        jax.monitoring.register_event_duration_secs_listener(self._hear)

    def _hear(self, event, seconds, **_):
        if event == "/jax/core/compile/backend_compile_duration":
            now = time.perf_counter()
            self._spans.append((now - seconds, now))

    @property
    def seconds(self):
        """What is compiled side by side counts once."""
        total, reached = 0.0, -math.inf
        for begin, end in sorted(self._spans):
            total += max(0.0, end - max(begin, reached))
            reached = max(reached, end)
        return total


class Heard(logging.Handler):
    """Warnings of the ``logging`` kind."""

    def __init__(self):
        super().__init__(logging.WARNING)
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def versions(names):
    """Of the packages named, and of Python."""
    found = {"python": ".".join(map(str, sys.version_info[:3]))}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = None
    return found


def cpu_seconds():
    """So far, of this process and of its children that have ended."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, who))


def work(job):
    """The answer to a job, as a dict for JSON."""
    answer = {"status": "failed", "message": None, "warnings": []}
    heard = Heard()
    logging.getLogger().addHandler(heard)
    compilations = Compilations()
    try:
        tool = load(job["tool_file"])
        began = time.perf_counter()
        if hasattr(tool, "load"):
            tool.load()
        if "jax" in sys.modules:
            sys.modules["jax"].config.update("jax_enable_x64", True)
            compilations.listen()
        answer["import_seconds"] = time.perf_counter() - began
        y, c = read_data(job["data_file"])
        problem = Problem(job["problem"], load(job["problem_file"]), y, c)
        answer["versions"] = versions(["numpy", *tool.PACKAGES])
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began, spent = time.perf_counter(), cpu_seconds()
            found = tool.run(problem, dict(job["settings"]), int(job["seed"]))
            answer["seconds"] = time.perf_counter() - began
            answer["cpu_seconds"] = cpu_seconds() - spent
        answer["versions"] |= found.pop("versions", {})
        answer["compile_seconds"] = found.pop("compile_seconds", compilations.seconds)
        answer["seconds"] = max(0.0, answer["seconds"] - answer["compile_seconds"])
        answer["calls"] = found.pop("calls", None) or problem.calls or None
        telling = [w for w in caught if not issubclass(w.category, DeprecationWarning)]
        said = [str(w.message) for w in telling] + heard.texts + found.pop("warnings", [])
        answer["warnings"] = [text[:LONGEST] for text in dict.fromkeys(said)][:8]
        answer.update(found)
        finite = answer.get("log_z") is not None and math.isfinite(answer["log_z"])
        answer["status"] = "done" if finite else "no answer"
        if not finite:
            answer["message"] = f"the value is {answer.get('log_z')}"
    except MemoryError:
        answer["status"], answer["message"] = "memory", "not enough memory within the limit"
    except Exception as error:
        line = " ".join(f"{type(error).__name__}: {error}".split())
        answer["message"] = line[:LONGEST]
        traceback.print_exc()
    return answer


def plain(value):
    """What JSON can hold: numbers that are none as None."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if isinstance(value, bool | str | int) or value is None:
        return value
    try:
        value = float(value)
    except (TypeError, ValueError):
        return str(value)
    return value if math.isfinite(value) else None


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    resource.setrlimit(resource.RLIMIT_DATA, (job["memory"], job["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.sched_setaffinity(0, job["cores"])
    answer = plain(work(job))
    partial = job["answer_file"] + ".partial"
    with open(partial, "w", encoding="utf-8") as file:
        json.dump(answer, file)
    os.replace(partial, job["answer_file"])


if __name__ == "__main__":
    main()
