"""When a model must compute carefully: how far rounding is from mattering."""

import numpy as np

#: Rounding is 1e-16 of such a number: below, the usual arithmetic is off by 1e-5 nats a visit.
LIMIT = 1e11


def stiff(y, noise_variance, prior_ratio) -> bool:
    """Whether rows of y, squared, over the noise variance, times their number and ``prior_ratio``
    (what one row says of a parameter over what the prior says, at least 1) are beyond the
    limit."""
    signal = np.max(np.sum(np.square(y), axis=1)) / noise_variance
    return bool(len(y) * max(signal, 1.0) * max(prior_ratio, 1.0) > LIMIT)
