"""The networks of the example: a decoder, an encoder, the bounds made of both, and their file."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

LATENTS = 50


def decode(layers, z):
    """Logits of the pixels, of a latent vector."""
    first, last = layers
    hidden = jnp.tanh(z @ first["weights"] + first["biases"])
    return hidden @ last["weights"] + last["biases"]


def encode(layers, y):
    """(mean, log standard deviation) of q(z | y), a Gaussian with independent coordinates."""
    first, last = layers
    hidden = jnp.tanh(y @ first["weights"] + first["biases"])
    mean, log_scale = jnp.split(hidden @ last["weights"] + last["biases"], 2)
    return mean, log_scale


def log_weights(networks, y, key, samples: int):
    """log p(z) p(y | z) / q(z | y) at samples of q, (samples,): their mean is the ELBO in
    expectation, the log of the mean of their exponentials the importance-weighted bound."""
    mean, log_scale = encode(networks["encoder"], y)
    noise = jax.random.normal(key, (samples, mean.shape[0]), mean.dtype)

    def one(noise):
        z = mean + jnp.exp(log_scale) * noise
        logits = decode(networks["decoder"], z)
        pixels = jnp.sum(y * logits - jax.nn.softplus(logits))
        # The 2 pi of prior and q cancel.
        return pixels - 0.5 * z @ z + 0.5 * noise @ noise + jnp.sum(log_scale)

    return jax.vmap(one)(noise)


def bound(networks, y, key, samples: int):
    """The importance-weighted bound on log p(y); with one sample, the ELBO."""
    return jax.nn.logsumexp(log_weights(networks, y, key, samples)) - jnp.log(samples)


def save(path: Path, found: dict, test: np.ndarray) -> None:
    """Networks by name, and test images, in one file."""
    arrays = {"test": np.packbits(test.astype(bool), axis=1)}
    for name, networks in found.items():
        for side, layers in networks.items():
            for number, layer in enumerate(layers):
                for part, values in layer.items():
                    arrays[f"{name}.{side}.{number}.{part}"] = np.asarray(values, np.float32)
    np.savez_compressed(path, allow_pickle=False, **arrays)


def load(path: Path) -> tuple[dict, np.ndarray]:
    """(networks by name, in double precision; test images, bits)."""
    found: dict = {}
    with np.load(path) as arrays:
        test = np.unpackbits(arrays["test"], axis=1).astype(int)
        for key in arrays.files:
            if key != "test":
                name, side, number, part = key.split(".")
                layers = found.setdefault(name, {}).setdefault(side, [{}, {}])
                layers[int(number)][part] = arrays[key].astype(float)
    return found, test
