"""What one row does to the clusters: shared by the scan (``gibbs``) and the GPU kernel
(``pallas``)."""

from bracketz.numerics.logarithm import log


def square_with(square, dots, w, row_square):
    """|S + w y|^2 from |S|^2 and S.y; a negative w takes the row out."""
    return square + w * (2 * dots + w * row_square)


def cluster_logits(log_prior, lam, square, dots, c, row_square, columns):
    """log pi_k + [log-mass of cluster k with the point] - [without], the latter two being

    -(D/2) log((lam + c) / lam) + (|S + c y|^2 / (lam + c) - |S|^2 / lam) / 2.

    The last part is c (lam (2 S.y + c |y|^2) - |S|^2) / (2 lam (lam + c)), so that one division
    serves both. The order of the sum matters for speed: with the prior last, XLA computes the
    logarithm several times.
    """
    lam_with = lam + c
    inverse = 1 / (lam * lam_with)
    gain = c * (lam * (2 * dots + c * row_square) - square) * inverse
    return log_prior - 0.5 * columns * log(lam_with * lam_with * inverse) + 0.5 * gain
