"""Held-out log-likelihood of deep decoders: both bounds of each image, images per second, and the
bounds of an encoder beside them.

    python benchmarks/decoders.py [--json] [--smoke] [--full]

The decoders (50 latents, 8 x 8 Bernoulli pixels; ``examples/decoders/digits.npz``, made by
``examples/decoders/train.py``) are a VAE's and an importance-weighted one's. Simulated images have
exact latents: certified. Test images have none: upper bounds are conditional. Goals: the mean gap,
that of single chains too, below 0.1 nats per image; ``--full`` takes 1,000 simulated images and all
test images, within a minute on a card.
"""

import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from report import Report, Row, Table, at_most, main

import bracketz as bz

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "decoders"))
from networks import LATENTS, decode, load, log_weights

FILE = Path(__file__).parents[1] / "examples" / "decoders" / "digits.npz"
#: Nats per image, and seconds of 1,000 images on a card.
WITHIN, MINUTE = 0.1, 60.0
#: Samples of the importance-weighted bound.
SAMPLES = 5000
#: Distributions, forward and reverse runs of each image.
DISTRIBUTIONS, CHAINS, REVERSE = 600, 16, 4


def encoded(networks, images, samples: int) -> tuple[np.ndarray, np.ndarray]:
    """(the ELBO by a mean over samples, the importance-weighted bound) of each image."""

    @jax.jit
    def one(args):
        y, key = args
        found = log_weights(networks, y, key, samples)
        return jnp.mean(found), jax.nn.logsumexp(found) - jnp.log(samples)

    keys = jax.random.split(jax.random.key(1), len(images))
    elbo, weighted = jax.lax.map(one, (jnp.asarray(images, float), keys))
    return np.asarray(elbo), np.asarray(weighted)


def run(options) -> Report:
    rows: list[Row] = []
    lines: list[list[str]] = []
    found, test = load(FILE)
    platform = jax.devices()[0].platform
    simulated, observed = (1000, len(test)) if options.full else (100, 100)
    distributions, samples = DISTRIBUTIONS, SAMPLES
    if options.smoke:
        simulated, observed, distributions, samples = 2, 2, 8, 10
    for name, networks in found.items():
        model = bz.Decoder(networks["decoder"], function=decode, latents=LATENTS)
        for kind, data in (
            ("simulated", bz.simulate_each(model, simulated, seed=1)),
            ("observed", test[:observed]),
        ):
            began = time.perf_counter()
            answer = bz.bracket_each(
                model, data, distributions=distributions, chains=CHAINS, reverse_chains=REVERSE
            )
            seconds = time.perf_counter() - began
            images = data.y if kind == "simulated" else data
            elbo, weighted = encoded(networks, images, samples)
            add(rows, lines, name, kind, platform, answer, seconds, elbo.mean(), weighted.mean())
            print(f"{name}, {kind}: {lines[-1]}", file=sys.stderr, flush=True)
    columns = [
        "decoder",
        "images",
        "upper is",
        "ELBO",
        f"weighted, {samples:,}",
        "lower",
        "upper",
        "gap",
        "single-chain gap",
        "95 % of the mean",
        "images / s",
        "run s",
        "all s",
    ]
    title = f"log-likelihood per image, {distributions} distributions, on {platform}"
    return Report("decoders", rows, [Table(title, columns, lines)])


def add(rows, lines, name, kind, platform, answer, seconds, elbo, weighted) -> None:
    count = len(answer.lower)
    case = f"{name}, {count} {kind} images, {platform}"
    upper = np.nan if answer.upper is None else answer.upper.mean()
    single = np.nan if answer.reverse is None else answer.reverse.mean() - answer.forward.mean()
    rows += [
        Row("decoders", case, "gap per image", abs(answer.gap), "nats", at_most(WITHIN)),
        Row("decoders", case, "gap of single chains", single, "nats", at_most(WITHIN)),
        Row("decoders", case, "images per second", count / answer.seconds.run, "1/s"),
    ]
    if count >= 1000:
        goal = at_most(MINUTE, stretch=platform == "cpu")
        per = 1000 / count * answer.seconds.run
        rows.append(Row("decoders", case, "1,000 images, run", per, "s", goal))
        rows.append(Row("decoders", case, "all, compiling and pilots too", seconds, "s"))
    high = "no bound" if answer.mean_high is None else f"{answer.mean_high:.3f}"
    lines.append(
        [
            name,
            f"{count} {kind}",
            answer.kind,
            f"{elbo:.3f}",
            f"{weighted:.3f}",
            f"{answer.lower.mean():.3f}",
            f"{upper:.3f}",
            f"{answer.gap:.3f}",
            f"{single:.3f}",
            f"[{answer.mean_low:.3f}, {high}]",
            f"{count / answer.seconds.run:.1f}",
            f"{answer.seconds.run:.1f}",
            f"{seconds:.1f}",
        ]
    )


def options(parser) -> None:
    parser.add_argument("--full", action="store_true", help="1,000 images, for a card")


if __name__ == "__main__":
    raise SystemExit(main(run, __doc__, options))
