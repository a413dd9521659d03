"""Sweeps that are one kernel on a graphics card, against the plain scans they stand for: on this
machine, by its own compiler."""

import dataclasses
from functools import partial

import jax
import numpy as np

from bracketz.check.report import Check, Discrepancy, Finding, Kind, NotApplicable, worst
from bracketz.check.subject import Subject
from bracketz.data.simulate import simulate
from bracketz.kernels.gibbs import GibbsScan
from bracketz.models.binary_attributes import BinaryAttributes, lanes
from bracketz.models.clustering import Clustering
from bracketz.numerics import pallas

ROWS, COLUMNS = 12, 5


@partial(jax.jit, static_argnames=("backward", "chains"))
def _both(model, y, powers, key, *, backward, chains):
    """Latents of many chains after one sweep: fused, and by the scan."""
    kernel = dataclasses.replace(model.kernel(y, powers), backward=backward)

    def one(key):
        start, sweep = jax.random.split(key)
        latents = kernel.latents(model.sample_prior(start, y.shape))
        return latents, kernel.noise(sweep, latents)

    latents, noise = jax.vmap(one)(jax.random.split(key, chains))
    scan = partial(GibbsScan.draw, kernel)
    return jax.vmap(kernel.draw)(latents, noise), jax.vmap(scan)(latents, noise)


def fused(subject: Subject) -> Finding:
    """The same latents from the same noise, in both directions: a chain per warp, and, for binary
    attributes of many chains, a chain per lane. They differ only where a uniform number falls
    within rounding of a probability, which the checks of all machines together will not see."""
    if not pallas.enabled():
        raise NotApplicable("no sweep is fused here: there is no graphics card, or it was refused")
    components = 4 if subject.level == "quick" else 10
    cases = []
    for model, chains in (
        (Clustering(components), lanes.MANY // 10),
        (BinaryAttributes(components), lanes.MANY // 10),
        (BinaryAttributes(components), lanes.MANY),
    ):
        data = simulate(model, ROWS, COLUMNS, seed=subject.seed)
        for backward in (False, True):
            pair = _both(
                model,
                data.y,
                np.linspace(0.0, 1.0, ROWS),
                jax.random.key(subject.seed),
                backward=backward,
                chains=chains,
            )
            found, expected = map(np.asarray, pair)
            wrong = int((found != expected).sum())
            sentence = (
                f"{wrong} of {expected.size:,} latents of {chains:,} chains differ"
                f" ({type(model).__name__}{', backwards' * backward})."
            )
            cases.append(Discrepancy(float(wrong), sentence))
    return worst(cases, "")


CHECKS = (
    Check(
        "sweeps.fused",
        Kind.EXACT,
        "a fused sweep does not draw what the scan draws; BRACKETZ_FUSED=0 does without.",
        fused,
    ),
)
