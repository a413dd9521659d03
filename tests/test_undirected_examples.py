"""examples/undirected: what the pictures and tables there rest on."""

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest

import bracketz as bz

sys.path.insert(0, str(Path(__file__).parents[1] / "examples" / "undirected"))


def test_the_evidence_of_a_noisy_picture_is_a_difference_of_partition_functions():
    """Against the sum over all 2 x 2 pictures of prior times likelihood."""
    import denoise

    y, coupling = np.array([[0.3, -1.2], [0.8, 0.1]]), 0.37
    model = bz.Ising(coupling=coupling)
    prior, likelihood = [], []
    for spins in itertools.product((-1, 1), repeat=4):
        s = np.array(spins).reshape(2, 2)
        bonds = np.sum(s[:, 0] * s[:, 1]) + np.sum(s[0] * s[1])
        prior.append(coupling * bonds)
        likelihood.append(np.sum(-0.5 * (y - s) ** 2 - 0.5 * np.log(2 * np.pi)))
    joint = np.logaddexp.reduce(np.add(prior, likelihood))
    truth = joint - np.logaddexp.reduce(prior)
    found = [model.exact_evidence(fields) for fields in (y / denoise.VARIANCE, np.zeros((2, 2)))]
    assert found[0] - found[1] + denoise.constant(y) == pytest.approx(truth, abs=1e-10)


def test_training_makes_digits_more_likely():
    import digits

    training, test = digits.digits()
    assert training.shape == (1500, 64) and set(np.unique(training)) == {0.0, 1.0}
    likelihoods = []
    for epochs in (0, 40):
        machine = digits.trained(training, hidden=4, epochs=epochs)
        log_f = [float(bz.RBM().log_visible(v, machine)) for v in test[:50]]
        likelihoods.append(np.mean(log_f) - bz.RBM().exact_evidence(machine))
    assert likelihoods[1] > likelihoods[0] + 1
