"""Train two small decoders on scikit-learn's digits: a VAE and an importance-weighted one.

    python examples/decoders/train.py [--out FILE] [--steps 6000]

Both have 50 latent units, one hidden layer of 100 on either side, and Bernoulli pixels (8 x 8,
binarised). The VAE (Kingma and Welling 2014) maximises the ELBO, the other the importance-weighted
bound with 20 samples (Burda, Grosse and Salakhutdinov 2016), by Adam (Optax). The result is one
.npz: the networks, and the test images. Under two minutes on 2 cores.

``digits.npz`` beside this file was made by it; ``benchmarks/decoders.py`` reads that one, so that
it needs neither scikit-learn nor Optax.
"""

import argparse
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from networks import LATENTS, bound, save

HIDDEN, PIXELS, BATCH, RATE = 100, 64, 100, 2e-3
#: Steps of Adam, and samples per image, of each.
KINDS = {"vae": 1, "iwae": 20}


def digits() -> tuple[np.ndarray, np.ndarray]:
    """(training images, test images), bits."""
    from sklearn.datasets import load_digits

    bits = (load_digits().data > 7).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(bits))
    return bits[order[:1500]], bits[order[1500:]]


def begun(key, training) -> dict:
    """Networks with small random weights; pixels begin at their base rates."""
    keys = jax.random.split(key, 4)

    def layer(key, inputs, outputs, scale=1.0):
        weights = scale * jax.random.normal(key, (inputs, outputs)) / jnp.sqrt(inputs)
        return {"weights": weights, "biases": jnp.zeros(outputs)}

    rates = (training.sum(0) + 1) / (len(training) + 2)
    last = layer(keys[3], HIDDEN, PIXELS)
    last["biases"] = jnp.log(rates) - jnp.log1p(-rates)
    return {
        "encoder": [layer(keys[0], PIXELS, HIDDEN), layer(keys[1], HIDDEN, 2 * LATENTS, 0.1)],
        "decoder": [layer(keys[2], LATENTS, HIDDEN), last],
    }


def trained(training, samples: int, steps: int, seed: int = 0) -> dict:
    """Networks after so many steps of Adam on the bound with so many samples per image."""
    import optax

    key_begin, key = jax.random.split(jax.random.key(seed))
    networks = begun(key_begin, training)
    rule = optax.adam(optax.cosine_decay_schedule(RATE, steps))
    training = jnp.asarray(training)

    def loss(networks, images, key):
        keys = jax.random.split(key, len(images))
        return -jnp.mean(jax.vmap(lambda y, k: bound(networks, y, k, samples))(images, keys))

    @jax.jit
    def step(networks, state, key):
        key_rows, key_noise = jax.random.split(key)
        rows = jax.random.randint(key_rows, (BATCH,), 0, len(training))
        slope = jax.grad(loss)(networks, training[rows], key_noise)
        change, state = rule.update(slope, state)
        return optax.apply_updates(networks, change), state

    state = rule.init(networks)
    for number in range(steps):
        networks, state = step(networks, state, jax.random.fold_in(key, number))
    return jax.tree.map(np.asarray, networks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("digits.npz"))
    parser.add_argument("--steps", type=int, default=6000)
    options = parser.parse_args()
    training, test = digits()
    found = {}
    for name, samples in KINDS.items():
        began = time.perf_counter()
        # The importance-weighted bound takes more work per step, and fewer steps.
        found[name] = trained(training, samples, options.steps // (1 if samples == 1 else 2))
        print(f"{name}: trained in {time.perf_counter() - began:.0f} s", flush=True)
    save(options.out, found, test)
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
