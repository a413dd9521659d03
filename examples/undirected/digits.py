"""The classic trap of machines' test likelihoods, and the two-sided answer beside it.

    python examples/undirected/digits.py [--out FOLDER]

A restricted Boltzmann machine with 16 hidden units is trained on scikit-learn's digits (8 x 8
pixels, binarised) by contrastive divergence. Its test log-likelihood is log f(v) - log Z. With log
Z from short AIS runs it looks better than it is; reverse AIS from an exact sample and RAISE err on
the other side. The exact value comes from enumerating the hidden layer. About a minute.
"""

import argparse
from pathlib import Path

import numpy as np

import bracketz as bz

HIDDEN, EPOCHS, BATCH, RATE = 16, 400, 50, 0.1
DISTRIBUTIONS = (3, 10, 30, 100, 300, 1000, 3000)


def digits() -> tuple[np.ndarray, np.ndarray]:
    """(training vectors, test vectors), bits."""
    from sklearn.datasets import load_digits

    bits = (load_digits().data > 7).astype(float)
    order = np.random.default_rng(0).permutation(len(bits))
    return bits[order[:1500]], bits[order[1500:]]


def trained(data: np.ndarray, hidden: int = HIDDEN, epochs: int = EPOCHS) -> np.ndarray:
    """A machine, by persistent contrastive divergence with chains of one sweep per step."""
    rng = np.random.default_rng(1)
    y = bz.RBM.machine(
        rng.normal(0, 0.01, (hidden, data.shape[1])), bz.RBM.base_rates(data), np.zeros(hidden)
    )

    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def with_one(units):
        return np.insert(units, 0, 1.0, axis=1)

    chains = data[rng.integers(len(data), size=BATCH)]
    for epoch in range(epochs):
        for rows in np.array_split(rng.permutation(len(data)), len(data) // BATCH):
            chance = sigmoid(with_one(chains) @ y[1:].T)
            hiddens = (rng.uniform(size=chance.shape) < chance).astype(float)
            chance = sigmoid(with_one(hiddens) @ y[:, 1:])
            chains = (rng.uniform(size=chance.shape) < chance).astype(float)
            slope = 0.0
            for sign, visible in ((1, data[rows]), (-1, chains)):
                on = sigmoid(with_one(visible) @ y[1:].T)
                slope = slope + sign * with_one(on).T @ with_one(visible) / len(visible)
            slope[0, 0] = 0.0
            y = y + RATE * (1 - epoch / epochs) * slope
    return y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--most", type=int, default=DISTRIBUTIONS[-1], help="distributions")
    options = parser.parse_args()
    training, test = digits()
    machine = trained(training, epochs=options.epochs)
    model = bz.RBM(base=bz.RBM.base_rates(training))
    log_f = bz.raise_bound(model, machine, test, distributions=2, chains=1).log_f.mean()
    exact = log_f - model.exact_evidence(machine)
    print(f"test log-likelihood per digit, exact: {exact:.2f}")
    print("distributions   by AIS's log Z   by reverse AIS   RAISE")
    curves = []
    for k in (k for k in DISTRIBUTIONS if k <= options.most):
        answer = bz.sandwich(model, machine, gap=0.1, chains=50, first=k, max_effort=k)
        below = bz.raise_bound(model, machine, test, distributions=k, chains=1).log_prob.mean()
        curves.append((k, log_f - answer.lower, log_f - answer.upper, below))
        print("{:13,}   {:14.2f}   {:14.2f}   {:5.2f}".format(*curves[-1]), flush=True)
    draw(np.array(curves), exact, options.out / "rbm_trap.png")


def draw(curves: np.ndarray, exact: float, path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    ax = figure.subplots()
    k, ais, reverse, below = curves.T
    ax.axhline(exact, color="black", lw=1, label="exact (enumeration)")
    ax.semilogx(k, ais, "o-", color="tab:red", label="with AIS's log Z: errs high (the trap)")
    ax.semilogx(k, reverse, "s-", color="tab:blue", label="with reverse AIS's log Z: errs low")
    ax.semilogx(k, below, "^--", color="tab:green", label="RAISE: errs low")
    ax.fill_between(k, reverse, ais, color="tab:blue", alpha=0.12)
    ax.set(xlabel="distributions", ylabel="nats per test digit", title="Test log-likelihood, RBM")
    ax.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
