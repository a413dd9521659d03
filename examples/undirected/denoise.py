"""How strongly do neighbouring pixels agree? Evidence of a noisy picture, certified on both sides.

    python examples/undirected/denoise.py

The picture is a handwritten digit (scikit-learn, 8 x 8, black and white); its pixels s = -1 or 1
are an Ising model with coupling J, and each is seen with normal noise, y = s + noise. Then

    log p(y | J) = log Z(J, fields y / variance) - log Z(J, no fields) + what does not depend on J,

two partition functions of given models, each bracketed by a sandwich. Nothing is simulated: the
exact samples come from coupling from the past, one of them from the posterior of this very picture.
"""

import argparse

import numpy as np

import bracketz as bz

VARIANCE = 1.0


def noisy(number: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """(the picture, what is seen of it)."""
    from sklearn.datasets import load_digits

    picture = np.where(load_digits().images[number] > 7, 1.0, -1.0)
    noise = np.random.default_rng(seed).normal(0, np.sqrt(VARIANCE), picture.shape)
    return picture, picture + noise


def constant(y: np.ndarray) -> float:
    """Of the noise: log N(y; s, variance) less y s / variance, the same for s = -1 and 1."""
    return float(np.sum(-0.5 * (y**2 + 1) / VARIANCE - 0.5 * np.log(2 * np.pi * VARIANCE)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--couplings", type=float, nargs="+", default=[0.0, 0.1, 0.2, 0.3, 0.4])
    couplings = parser.parse_args().couplings
    _, y = noisy()
    print("coupling   log p(y): low, high (certified, 90 %)    exact")
    for coupling in couplings:
        model = bz.Ising(coupling=coupling)
        # Each certificate may fail with half of the probability.
        with_y, without = (
            bz.sandwich(model, fields, gap=0.1, confidence=0.95)
            for fields in (y / VARIANCE, np.zeros(y.shape))
        )
        low = with_y.certificate.low - without.certificate.high + constant(y)
        high = with_y.certificate.high - without.certificate.low + constant(y)
        exact = [model.exact_evidence(fields) for fields in (y / VARIANCE, np.zeros(y.shape))]
        middle = with_y.log_ml - without.log_ml + constant(y)
        print(
            f"{coupling:8.2f}   {middle:8.2f} in [{low:.2f}, {high:.2f}]"
            f"   {exact[0] - exact[1] + constant(y):8.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
