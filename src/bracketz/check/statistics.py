"""p-values that hold in the tails: bounded statistics, known variances, conservative
corrections."""

import numpy as np
from scipy import stats


def bonferroni(p_values) -> float:
    """One p-value for the smallest of several."""
    p = np.asarray(p_values, float)
    return float(min(1.0, p.size * np.min(p)))


def normal_p(z) -> np.ndarray:
    """Two-sided."""
    return 2 * stats.norm.sf(np.abs(z))


def mean_zero_p(values: np.ndarray, axis: int = 0) -> np.ndarray:
    """Two-sided Student test that the mean along ``axis`` is 0; constant columns of zeros have p =
    1."""
    n = values.shape[axis]
    mean, error = values.mean(axis), values.std(axis, ddof=1) / np.sqrt(n)
    # Spread at the level of rounding is no spread: a deviation of that size proves nothing either.
    floor = 1e-9
    t = np.where(np.abs(mean) < floor, 0.0, mean / np.maximum(error, floor))
    return 2 * stats.t.sf(np.abs(t), n - 1)


def counts_p(counts: np.ndarray, probabilities: np.ndarray, least: float = 10.0) -> float:
    """Pearson's test of ``counts`` against ``probabilities``; rare cells are pooled."""
    expected = counts.sum() * probabilities
    order = np.argsort(expected)
    rare = order[np.cumsum(expected[order]) < least]
    if np.any(counts[probabilities < 1e-12] > 0):
        return 0.0
    keep = np.setdiff1d(np.arange(len(counts)), rare)
    observed = np.append(counts[keep], counts[rare].sum())
    expected = np.append(expected[keep], expected[rare].sum())
    observed, expected = observed[expected > 0], expected[expected > 0]
    if len(expected) < 2:
        return 1.0
    return float(stats.chi2.sf(np.sum((observed - expected) ** 2 / expected), len(expected) - 1))


def white_p(vectors: np.ndarray, seed: int = 0) -> float:
    """Are the rows of ``vectors`` independent draws of N(0, I)?

    Kolmogorov-Smirnov on every coordinate, on random projections and on the squared length.
    """
    d = vectors.shape[1]
    directions = np.random.default_rng(seed).normal(size=(d, min(16, 4 * d)))
    directions /= np.linalg.norm(directions, axis=0)
    columns = [*vectors.T, *(vectors @ directions).T] if d > 1 else [vectors[:, 0]]
    p = [uniform_p(stats.norm.cdf(column)) for column in columns]
    return bonferroni([*p, uniform_p(stats.chi2.cdf(np.sum(vectors**2, axis=1), d))])


def uniform_p(values: np.ndarray) -> float:
    """Kolmogorov's test that ``values`` are uniform on [0, 1] (asymptotic, which is
    conservative)."""
    n = len(values)
    ordered = np.sort(values)
    grid = np.arange(n + 1) / n
    distance = max(np.max(grid[1:] - ordered), np.max(ordered - grid[:-1]))
    return float(stats.kstwobign.sf(np.sqrt(n) * distance))


def same_law_p(first: np.ndarray, second: np.ndarray) -> float:
    """Smirnov's two-sample test (asymptotic, conservative for discrete values)."""
    n, m = len(first), len(second)
    every = np.concatenate([first, second])
    a = np.searchsorted(np.sort(first), every, "right") / n
    b = np.searchsorted(np.sort(second), every, "right") / m
    return float(stats.kstwobign.sf(np.sqrt(n * m / (n + m)) * np.max(np.abs(a - b))))
