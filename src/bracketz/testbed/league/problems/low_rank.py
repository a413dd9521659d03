"""A low-rank matrix: rows V u + noise, u ~ N(0, I) integrated out, so rows ~ N(0, V V' + s I)."""

import numpy as np

PROBLEMS = {
    "low-rank-10": {
        "hard": "V may be rotated and mirrored: the posterior is a pair of rings",
        "settings": {"rows": 50, "columns": 5},
    }
}
NOISE = 0.5


def constants(rows, columns):
    return {"rows": np.array(rows), "columns": np.array(columns)}


def dimension(c):
    return 2 * int(c["columns"])


def prior_transform(u, c, m):
    return m.ndtri(u)


def log_prior(theta, c, m):
    return m.sum(m.normal(theta), axis=-1)


def log_likelihood(theta, y, c, m):
    """By the 2 x 2 matrix s I + V'V: det(V V' + s I) = s^(D-2) det(s I + V'V), Woodbury for the
    inverse. Data enter by Y'Y alone."""
    squares = y["squares"]
    columns = squares.shape[0]
    a, b = theta[..., :columns], theta[..., columns:]
    aa, ab, bb = NOISE + m.sum(a * a, -1), m.sum(a * b, -1), NOISE + m.sum(b * b, -1)
    det = aa * bb - ab * ab
    of_a, of_b = a @ squares, b @ squares
    within = bb * m.sum(a * of_a, -1) - 2 * ab * m.sum(a * of_b, -1) + aa * m.sum(b * of_b, -1)
    log_det = (columns - 2) * np.log(NOISE) + m.log(det) + columns * np.log(2 * np.pi)
    return -0.5 * c["rows"] * log_det - 0.5 * (m.trace(squares) - within / det) / NOISE


def simulate(theta, c, rng):
    rows, columns = int(c["rows"]), int(c["columns"])
    drawn = rng.normal(size=(rows, 2)) @ theta.reshape(2, columns)
    drawn = drawn + np.sqrt(NOISE) * rng.normal(size=(rows, columns))
    return {"squares": drawn.T @ drawn, "y": drawn}
