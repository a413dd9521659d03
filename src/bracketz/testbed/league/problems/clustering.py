"""The paper's clustering, in the plane: three centres, Dirichlet weights, labels summed out.

Few rows, so all 3^12 labellings can be summed as well: the evidence is exact.
"""

import math

import numpy as np

PROBLEMS = {
    "clustering-8": {
        "hard": "labels summed out, weights unknown: 6 modes, and clusters that stay empty",
        "settings": {"rows": 12, "spread": 3.0},
    }
}
CENTRES = 3


def constants(rows, spread):
    return {"rows": np.array(rows), "spread": np.array(spread)}


def dimension(c):
    return 2 * CENTRES + CENTRES - 1  # centres; logits of the sticks that weights are broken of


def prior_transform(u, c, m):
    centres = c["spread"] * m.ndtri(u[..., : 2 * CENTRES])
    left = m.log(u[..., 2 * CENTRES :]) / np.array([2.0, 1.0])  # 1 - v, for v ~ Beta(1, b)
    return m.concatenate([centres, m.log(-m.expm1(left)) - left], axis=-1)


def log_prior(theta, c, m):
    """A logit x of v ~ Beta(1, b) has the density b v (1 - v)^b."""
    centres, logits = theta[..., : 2 * CENTRES], theta[..., 2 * CENTRES :]
    rest = np.array([2.0, 1.0])  # b: Dirichlet(1, 1, 1) by its sticks
    sticks = np.log(rest) + m.log_sigmoid(logits) + rest * m.log_sigmoid(-logits)
    return m.sum(m.normal(centres, 0.0, c["spread"]), axis=-1) + m.sum(sticks, axis=-1)


def log_likelihood(theta, y, c, m):
    centres = theta[..., : 2 * CENTRES].reshape((*theta.shape[:-1], CENTRES, 2))
    taken, left = (
        m.log_sigmoid(theta[..., 2 * CENTRES :]),
        m.log_sigmoid(-theta[..., 2 * CENTRES :]),
    )
    first, second = taken[..., :1], left[..., :1] + taken[..., 1:]
    log_weights = m.concatenate([first, second, left[..., :1] + left[..., 1:]], axis=-1)
    square = m.sum((y["y"][:, None] - centres[..., None, :, :]) ** 2, axis=-1)
    each = m.logsumexp(log_weights[..., None, :] - 0.5 * square)
    return m.sum(each, axis=-1) - y["y"].shape[0] * math.log(2 * math.pi)


def simulate(theta, c, rng):
    v = 1 / (1 + np.exp(-theta[2 * CENTRES :]))
    weights = [v[0], (1 - v[0]) * v[1], (1 - v[0]) * (1 - v[1])]
    label = rng.choice(CENTRES, size=int(c["rows"]), p=weights)
    return {"y": theta[: 2 * CENTRES].reshape(CENTRES, 2)[label] + rng.normal(size=(len(label), 2))}


EXACT = "enumeration"


def exact(y, c):
    """Over all labellings: Dirichlet-multinomial, times what each cluster's rows say, its centre
    integrated out. Counts and sums of two halves of the rows add up."""
    rows, variance = y["y"], float(c["spread"]) ** 2
    halves = [_counts_and_sums(half) for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :])]
    total = np.zeros(())
    for k in range(CENTRES):
        count, x, z = (halves[0][i][:, None, k] + halves[1][i][None, :, k] for i in range(3))
        factorial = np.array([math.lgamma(n + 1) for n in range(len(rows) + 1)])[count]
        shrunk = 0.5 * variance * (x**2 + z**2) / (1 + count * variance)
        total = total + factorial - np.log1p(count * variance) + shrunk
    total = total + math.lgamma(CENTRES) - math.lgamma(len(rows) + CENTRES)
    top = total.max()
    rest = -0.5 * np.sum(rows**2) - len(rows) * math.log(2 * math.pi)
    return float(top + np.log(np.sum(np.exp(total - top))) + rest)


def _counts_and_sums(rows):
    """Of every labelling of these rows: (labellings, clusters) counts, sums of both columns."""
    labels = np.stack(np.meshgrid(*[range(CENTRES)] * len(rows), indexing="ij"), -1)
    of = labels.reshape(-1, len(rows))[..., None] == np.arange(CENTRES)
    return of.sum(1), np.einsum("lnk,n->lk", of, rows[:, 0]), np.einsum("lnk,n->lk", of, rows[:, 1])
