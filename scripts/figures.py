"""The figures of the theory pages, as SVG: toy problems whose evidence is known exactly.

    python scripts/figures.py            # docs/images/theory/*.svg, a few seconds
    python scripts/figures.py --out DIR

One latent number x ~ N(0, 1) and 20 observations y_i ~ N(x, 1): log p(y) is a formula. Chains are
NumPy, one random-walk Metropolis step per temperature, so that the page and the code can be read
side by side. Fixed seeds: the same files again, up to the version of Matplotlib.
"""

import argparse
import itertools
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import pyplot as plt
from scipy.special import logsumexp
from scipy.stats import norm

from bracketz.core.betting import betting_bound, log_wealth
from bracketz.core.weights import bennett

matplotlib.use("svg")
OUT = Path(__file__).parents[1] / "docs" / "images" / "theory"
FORWARD, REVERSE, TRUTH, MUTED = "#0072B2", "#D55E00", "#222222", "#777777"
STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "bracketz",
    "legend.frameon": False,
    "figure.constrained_layout.use": True,
}

ROWS = 20
MEAN = np.random.default_rng(3).normal()  # the exact sample: the x that made the data
Y = MEAN + np.random.default_rng(4).normal(size=ROWS)


def log_likelihood(x: np.ndarray) -> np.ndarray:
    return norm.logpdf(Y[:, None], x).sum(axis=0)


def log_evidence() -> float:
    """y ~ N(0, I + 1 1')."""
    quadratic = Y @ Y - Y.sum() ** 2 / (1 + ROWS)
    return float(-0.5 * (quadratic + np.log(1 + ROWS) + ROWS * np.log(2 * np.pi)))


def move(x, power, rng):
    """One Metropolis step that keeps prior times likelihood^power; in balance, so its own
    reversal."""
    new = x + 1.5 / np.sqrt(1 + power * ROWS) * rng.normal(size=x.shape)
    log_ratio = norm.logpdf(new) - norm.logpdf(x)
    log_ratio += power * (log_likelihood(new) - log_likelihood(x))
    return np.where(np.log(rng.uniform(size=x.shape)) < log_ratio, new, x)


def forward(distributions: int, chains: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    x, log_w = rng.normal(size=chains), np.zeros(chains)
    powers = np.linspace(0, 1, distributions)
    for before, power in itertools.pairwise(powers):
        log_w += (power - before) * log_likelihood(x)  # weigh, then move
        x = move(x, power, rng)
    return log_w


def reverse(distributions: int, chains: int, seed: int) -> np.ndarray:
    """The same steps read backwards from the exact sample; minus the log of the reverse weight."""
    rng = np.random.default_rng(seed)
    x, log_w = np.full(chains, MEAN), np.zeros(chains)
    powers = np.linspace(0, 1, distributions)
    for before, power in zip(powers[-2::-1], powers[:0:-1], strict=True):
        x = move(x, power, rng)
        log_w += (power - before) * log_likelihood(x)
    return log_w


def bounds(out: Path) -> None:
    """Both bounds close in on the truth as distributions are added."""
    efforts = 2 ** np.arange(1, 11)
    figure, axis = plt.subplots(figsize=(6, 3.2))
    for run, colour, marker, label in (
        (reverse, REVERSE, "v", "upper: reverse runs"),
        (forward, FORWARD, "^", "lower: forward runs"),
    ):
        values = np.array([run(n, 500, seed=n) for n in efforts])
        mean = values.mean(axis=1)
        low, high = np.quantile(values, (0.1, 0.9), axis=1)
        axis.fill_between(efforts, low, high, color=colour, alpha=0.15, lw=0)
        axis.plot(efforts, mean, color=colour, marker=marker, ms=5, label=label)
    axis.axhline(log_evidence(), color=TRUTH, lw=1)
    axis.annotate(
        "log p(y)", (1024, log_evidence()), (0, 4), textcoords="offset points", ha="right"
    )
    axis.set(xscale="log", xlabel="distributions on the path", ylabel="log-weight of a chain, nats")
    axis.set_ylim(log_evidence() - 14, log_evidence() + 6)
    axis.legend(loc="lower right")
    save(figure, out / "bounds.svg")


def crooks(out: Path) -> None:
    """Two laws of the log-weight cross at the log evidence."""
    up, down = forward(64, 40_000, seed=1), reverse_over_data(64, 40_000, seed=2)
    figure, axis = plt.subplots(figsize=(6, 2.8))
    centred, share = np.linspace(-9, 6, 61), np.full(40_000, 1 / 40_000)
    for values, colour, label in (
        (up - log_evidence(), FORWARD, "forward"),
        (down, REVERSE, "reverse"),
    ):
        axis.hist(values, centred, weights=share, histtype="stepfilled", alpha=0.25, color=colour)
        axis.hist(
            values, centred, weights=share, histtype="step", color=colour, label=label, lw=1.5
        )
    axis.axvline(0, color=TRUTH, lw=1)
    axis.annotate(
        "log p(y)",
        (0, 0.97),
        (-4, 0),
        ha="right",
        textcoords="offset points",
        va="top",
        xycoords=("data", "axes fraction"),
    )
    axis.set(xlabel="log-weight minus log p(y), nats", ylabel="share of chains", yticks=[])
    axis.legend(loc="upper left")
    save(figure, out / "crooks.svg")


def reverse_over_data(distributions: int, chains: int, seed: int) -> np.ndarray:
    """Reverse log-weights less the log evidence, each from an exact sample of its own: the
    posterior is a normal, so here they can be drawn."""
    rng = np.random.default_rng(seed)
    x = Y.sum() / (1 + ROWS) + rng.normal(size=chains) / np.sqrt(1 + ROWS)
    log_w, powers = np.zeros(chains), np.linspace(0, 1, distributions)
    for before, power in zip(powers[-2::-1], powers[:0:-1], strict=True):
        x = move(x, power, rng)
        log_w += (power - before) * log_likelihood(x)
    return log_w - log_evidence()


def paths(out: Path) -> None:
    """Left: densities between prior and posterior. Right: rows of powers of three paths."""
    figure, axes = plt.subplots(1, 4, figsize=(7.2, 2.5), width_ratios=[2.2, 0.5, 1, 1])
    x = np.linspace(-3, 3, 400)
    for height, power in enumerate((0, 0.02, 0.1, 0.3, 1.0)):
        precision = 1 + power * ROWS
        density = norm.pdf(x, power * Y.sum() / precision, precision**-0.5)
        top = 0.75 * density / density.max() + height
        axes[0].fill_between(x, height, top, color=plt.cm.viridis(height / 5), alpha=0.7, lw=0)
        axes[0].annotate(f"b = {power:g}", (-3, height + 0.1), fontsize=8)
    axes[0].set(yticks=[], xlabel="x", title="prior (below) to posterior")
    axes[0].spines["left"].set_visible(False)
    rows, edges = 6, 6
    tempered = np.linspace(0, 1, edges + 1)[:, None] * np.ones(rows)
    prefix = (np.arange(edges + 1)[:, None] > np.arange(rows)).astype(float)
    for axis, table, title in (
        (axes[1], tempered[[0, -1]], "one edge"),
        (axes[2], tempered, "tempered: AIS"),
        (axes[3], prefix, "prefix: SMC"),
    ):
        axis.imshow(table, cmap="Blues", vmin=0, vmax=1.2, aspect="auto")
        axis.set(xticks=[], yticks=[], xlabel="data points", title=title)
        axis.title.set_fontsize(9)
    axes[1].set_ylabel("step t (downwards)")
    save(figure, out / "paths.svg")


def betting(out: Path) -> None:
    """Left: wealth against three claimed means. Right: the bound against the number of weights."""
    log_w = np.random.default_rng(7).normal(-0.5, 1.0, size=1000)  # log-normal, mean 1
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.9))
    rounds = np.arange(1, 201)
    for claim, colour, style in ((-0.5, FORWARD, "-"), (-0.25, MUTED, "--"), (0.0, TRUTH, ":")):
        wealth = log_wealth(log_w[:200], claim)
        label = f"log m = log Z {claim:+.2f}" if claim else "log m = log Z"
        axes[0].plot(rounds, wealth, color=colour, ls=style, label=label)
    axes[0].axhline(np.log(20), color=REVERSE, lw=1)
    axes[0].annotate(
        "rejected: 1/α = 20",
        (0, np.log(20)),
        (0, 3),
        fontsize=8,
        textcoords="offset points",
        color=REVERSE,
    )
    axes[0].set(xlabel="weights looked at", ylabel="log wealth", ylim=(-8, 10))
    axes[0].legend(fontsize=8, loc="lower right")
    counts = np.array([5, 10, 20, 50, 100, 200, 500, 1000])
    bets = [betting_bound(log_w[:n], 0.05) for n in counts]
    markov = [np.log(np.mean(np.exp(log_w[:n]))) - np.log(20) for n in counts]
    axes[1].axhline(0, color=TRUTH, lw=1)
    axes[1].plot(counts, bets, color=FORWARD, marker="^", ms=5, label="betting")
    axes[1].plot(counts, markov, color=MUTED, marker="s", ms=4, ls="--", label="Markov")
    axes[1].annotate("log Z", (5, 0), (0, 3), textcoords="offset points")
    axes[1].set(xscale="log", xlabel="weights", ylabel="95 % lower bound − log Z", ylim=(-4, 0.6))
    axes[1].legend(fontsize=8, loc="center right")
    save(figure, out / "betting.svg")


def coupling(out: Path) -> None:
    """Two chains fed the same pairs, one behind the other by the lag, meet and stay together."""
    rng = np.random.default_rng(8)
    lag, pairs = 4, 22
    log_w = rng.normal(-0.7, 1.2, size=pairs)
    uniforms = rng.uniform(size=pairs)

    def chain(start):
        held, path = start, [start]
        for t in range(start + 1, pairs):
            if np.log(uniforms[t]) < log_w[t] - log_w[held]:
                held = t
            path.append(held)
        return np.arange(start, pairs), np.array(path)

    figure, axis = plt.subplots(figsize=(6, 2.8))
    axis.plot(np.arange(pairs), log_w, "o", color=MUTED, ms=4, label="pairs offered")
    (first, x), (second, y) = chain(0), chain(lag)
    axis.step(
        first, log_w[x], where="post", color=FORWARD, lw=2.5, alpha=0.8, label="leading chain"
    )
    axis.step(
        second,
        log_w[y],
        where="post",
        color=REVERSE,
        lw=1.5,
        ls="--",
        label=f"the chain {lag} behind",
    )
    together = next(t for t in range(lag, pairs) if x[t] == y[t - lag])
    axis.axvline(together, color=TRUTH, lw=1, ls=":")
    axis.annotate(
        "they meet",
        (together, 0.02),
        (4, 0),
        xycoords=("data", "axes fraction"),
        textcoords="offset points",
    )
    axis.set(xlabel="pair", ylabel="log-weight", ylim=(log_w.min() - 0.5, log_w.max() + 1.6))
    axis.legend(fontsize=8, ncols=3, loc="upper center")
    save(figure, out / "coupling.svg")


def save(figure, file: Path) -> None:
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    asked.add_argument("--out", type=Path, default=OUT)
    out = asked.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    plt.rcParams.update(STYLE)
    for draw in (bounds, crooks, paths, betting, coupling):
        draw(out)
    up, down = forward(64, 200, seed=11), reverse(64, 200, seed=12)
    print(f"log p(y) = {log_evidence():.2f}")
    lower, upper = logsumexp(up) - np.log(200), np.log(200) - logsumexp(-down)
    print(f"64 distributions, 200 chains: lower {lower:.2f}, upper {upper:.2f},", end=" ")
    print(f"Bennett {bennett(up, down).log_ml:.2f}")


if __name__ == "__main__":
    main()
