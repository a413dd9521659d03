"""The paper's binary attributes: rows are sums of what they have, each row's bits summed out.

y_n = sum_k z_nk a_k + noise, z_nk ~ Bernoulli(p_k). Few rows, so all 2^20 matrices z can be summed
as well: the evidence is exact.
"""

import math

import numpy as np

PROBLEMS = {
    "binary-attributes-8": {
        "hard": "bits summed out: attributes swap places, share their work, or are in no row",
        "settings": {"rows": 10, "columns": 3},
    }
}
ATTRIBUTES, SPREAD, NOISE = 2, 2.0, 0.7
#: Rows of bits that a data row may have.
BITS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])


def constants(rows, columns):
    return {"rows": np.array(rows), "columns": np.array(columns)}


def dimension(c):
    return ATTRIBUTES * (1 + int(c["columns"]))  # logits of p, then a_1, a_2


def prior_transform(u, c, m):
    p = u[..., :ATTRIBUTES]
    return m.concatenate([m.log(p) - m.log1p(-p), SPREAD * m.ndtri(u[..., ATTRIBUTES:])], axis=-1)


def log_prior(theta, c, m):
    """p is uniform, so its logit is logistic."""
    logits = theta[..., :ATTRIBUTES]
    uniform = m.sum(m.log_sigmoid(logits) + m.log_sigmoid(-logits), axis=-1)
    return uniform + m.sum(m.normal(theta[..., ATTRIBUTES:], 0.0, SPREAD), axis=-1)


def log_likelihood(theta, y, c, m):
    logits = theta[..., None, :ATTRIBUTES]
    log_bits = m.sum(m.where(BITS > 0, m.log_sigmoid(logits), m.log_sigmoid(-logits)), axis=-1)
    shape = (*theta.shape[:-1], ATTRIBUTES, y["y"].shape[1])
    means = BITS @ theta[..., ATTRIBUTES:].reshape(shape)
    of_row = m.sum(m.normal(y["y"][:, None], means[..., None, :, :], NOISE), axis=-1)
    return m.sum(m.logsumexp(log_bits[..., None, :] + of_row), axis=-1)


def simulate(theta, c, rng):
    p = 1 / (1 + np.exp(-theta[:ATTRIBUTES]))
    z = rng.uniform(size=(int(c["rows"]), ATTRIBUTES)) < p
    means = z @ theta[ATTRIBUTES:].reshape(ATTRIBUTES, int(c["columns"]))
    return {"y": means + NOISE * rng.normal(size=means.shape)}


EXACT = "enumeration"


def exact(y, c):
    """Over all matrices of bits: Beta-Bernoulli, times the normal density of the columns given the
    bits, attributes integrated out. Counts and sums of two halves of the rows add up."""
    rows = y["y"]
    halves = [_counts_and_sums(half) for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :])]
    first, second, both, *sums = (
        left[:, None] + right[None, :] for left, right in zip(*halves, strict=True)
    )
    count, columns = rows.shape
    ratio = NOISE**2 / SPREAD**2
    a, d = first + ratio, second + ratio
    det = a * d - both**2
    square = np.zeros(())
    for s, t in zip(sums[:columns], sums[columns:], strict=True):  # z'y of a column
        square = square + (d * s * s - 2 * both * s * t + a * t * t) / det
    log_det = columns * (np.log(det) - 2 * math.log(ratio) + 2 * count * math.log(NOISE))
    of_columns = -0.5 * (log_det + (np.sum(rows**2) - square) / NOISE**2)
    factorial = np.array([math.lgamma(n + 1) for n in range(count + 1)])
    of_bits = sum(factorial[n] + factorial[count - n] for n in (first, second))
    total = of_columns + of_bits - 2 * math.lgamma(count + 2)
    top = total.max()
    rest = -0.5 * count * columns * math.log(2 * math.pi)
    return float(top + np.log(np.sum(np.exp(total - top))) + rest)


def _counts_and_sums(rows):
    """Of every matrix of bits for these rows: how many have the first attribute, the second, both;
    the sums over rows that have the first of each column, and those that have the second."""
    which = np.stack(np.meshgrid(*[range(4)] * len(rows), indexing="ij"), -1).reshape(-1, len(rows))
    z = BITS[which].astype(int)
    sums = np.einsum("lnk,nd->kdl", z, rows).reshape(2 * rows.shape[1], -1)
    return [z[..., 0].sum(1), z[..., 1].sum(1), (z[..., 0] * z[..., 1]).sum(1), *sums]
