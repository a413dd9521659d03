"""What a decoder's test likelihood is, by four bounds: ELBO, importance-weighted, and the sandwich.

    python examples/decoders/compare.py [--images 40] [--networks FILE] [--out FOLDER]

Reads the networks that ``train.py`` has written. For each test image: the ELBO, the
importance-weighted bound with 5,000 samples of the encoder, and the lower and upper bound of
``bracketz.bracket_each``, whose upper one is conditional: test images have no exact latents. Then
images simulated from the decoder, whose latents are exact: both bounds are certified there, and one
sees what the encoder's bounds are worth on images the decoder knows how to make.
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from networks import LATENTS, decode, load, log_weights

import bracketz as bz

SAMPLES = 5000


def encoded(networks, images, samples: int = SAMPLES) -> tuple[np.ndarray, np.ndarray]:
    """(ELBO, importance-weighted bound) of each image, both by so many samples."""

    @jax.jit
    def one(args):
        y, key = args
        found = log_weights(networks, y, key, samples)
        return jnp.mean(found), jax.nn.logsumexp(found) - jnp.log(samples)

    keys = jax.random.split(jax.random.key(1), len(images))
    elbo, weighted = jax.lax.map(one, (jnp.asarray(images, float), keys))
    return np.asarray(elbo), np.asarray(weighted)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--networks", type=Path, default=Path(__file__).with_name("digits.npz"))
    parser.add_argument("--images", type=int, default=40)
    parser.add_argument("--distributions", type=int, default=600)
    parser.add_argument("--out", type=Path, default=Path("."))
    options = parser.parse_args()
    found, test = load(options.networks)
    print(f"nats per image, {options.images} images each")
    print("decoder  images     ELBO      weighted  lower     upper     gap     upper bound is")
    drawn = {}
    for name, networks in found.items():
        model = bz.Decoder(networks["decoder"], function=decode, latents=LATENTS)
        simulated = bz.simulate_each(model, options.images, seed=1)
        for kind, data in (("test", test[: options.images]), ("simulated", simulated)):
            answer = bz.bracket_each(model, data, distributions=options.distributions)
            elbo, weighted = encoded(networks, data.y if kind == "simulated" else data)
            upper = np.full(len(elbo), np.nan) if answer.upper is None else answer.upper
            numbers = (x.mean() for x in (elbo, weighted, answer.lower, upper))
            told = "  ".join(f"{x:8.3f}" for x in numbers)
            print(f"{name:7}  {kind:9}  {told}  {answer.gap:6.3f}  {answer.kind}", flush=True)
            if kind == "test":
                drawn[name] = (elbo, weighted, answer.lower, upper)
    draw(drawn, options.out / "decoders.png")


def draw(drawn: dict, path: Path) -> None:
    """How far each bound of a test image is from the middle of its sandwich."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.4), layout="constrained")
    axes = figure.subplots(1, len(drawn), sharey=True)
    for ax, (name, (elbo, weighted, lower, upper)) in zip(axes, drawn.items(), strict=True):
        middle = 0.5 * (lower + upper)
        order = np.argsort(elbo - middle)
        place = np.arange(len(order))
        ax.fill_between(place, (lower - middle)[order], (upper - middle)[order], alpha=0.4)
        ax.plot(place, (elbo - middle)[order], "v", ms=3, color="tab:red", label="ELBO")
        ax.plot(
            place, (weighted - middle)[order], "o", ms=3, color="tab:green", label="weighted, 5,000"
        )
        ax.set(title=name, xlabel="test images, by their ELBO's gap", yscale="symlog")
    axes[0].set(ylabel="nats from the sandwich's middle")
    axes[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
