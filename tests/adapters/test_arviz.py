"""Answers in ArviZ: every number is where it should be, and survives a file."""

import sys

import numpy as np
import pytest

import bracketz as bz
from bracketz.interchange.arviz import to_arviz

pytest.importorskip("arviz")


@pytest.fixture(scope="module")
def answer():
    model = bz.Clustering(components=2)
    return bz.sandwich(model, bz.simulate(model, rows=6, columns=2), gap=4.0, chains=4)


@pytest.fixture(scope="module")
def estimate():
    model = bz.Clustering(components=2)
    data = bz.simulate(model, rows=6, columns=2)
    return bz.estimate(model, data, bz.AIS(distributions=9), trials=3)


def from_netcdf(path):
    import arviz

    if int(arviz.__version__.split(".")[0]) >= 1:
        import xarray

        return xarray.open_datatree(path, engine="h5netcdf")
    return arviz.from_netcdf(path)


def test_a_sandwich_survives_a_file(answer, tmp_path):
    path = tmp_path / "answer.nc"
    answer.to_arviz().to_netcdf(str(path))
    back = from_netcdf(str(path))
    look = answer.looks[-1]
    for direction in ("forward", "reverse"):
        weights = back[direction]["log_weight"]
        assert weights.dims == ("chain",)
        np.testing.assert_array_equal(weights.values, getattr(look, direction))
    np.testing.assert_array_equal(back["looks"]["upper"].values, [k.upper for k in answer.looks])
    attributes = back.attrs
    assert attributes["lower"] == answer.lower and attributes["upper"] == answer.upper
    assert attributes["log_evidence"] == answer.log_ml
    assert attributes["certificate_low"] == answer.certificate.low
    assert attributes["certificate_high"] == answer.certificate.high
    assert attributes["model"] == answer.model and attributes["seed"] == answer.seed
    assert attributes["inference_library_version"] == bz.__version__


def test_reports_are_by_distribution(answer):
    import dataclasses

    one = dataclasses.replace(answer, reports={"acceptance": (0.9, 0.8, 0.7)})
    acceptance = one.to_arviz()["reports"]["acceptance"]
    assert acceptance.dims == ("distribution",)
    np.testing.assert_array_equal(acceptance.values, [0.9, 0.8, 0.7])
    two = dataclasses.replace(answer, reports={"acceptance": (0.9, 0.8), "jump": (1.0,)})
    assert two.to_arviz()["reports"]["jump"].dims == ("jump_distribution",)


def test_an_estimate_survives_a_file(estimate, tmp_path):
    path = tmp_path / "estimate.nc"
    estimate.to_arviz().to_netcdf(str(path))
    back = from_netcdf(str(path))
    np.testing.assert_array_equal(back["trials"]["log_evidence"].values, estimate.log_ml_trials)
    assert back.attrs["estimator"] == estimate.estimator and back.attrs["side"] == "lower"
    assert back.attrs["certificate_low"] == estimate.certificate.low


def test_other_things_are_refused():
    with pytest.raises(bz.InputError, match="`answer` must be a Sandwich or an Estimate, got int"):
        to_arviz(3)


def test_without_arviz_the_way_out_is_named(answer, monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    with pytest.raises(bz.InputError, match=r'pip install "bracketz\[arviz\]"'):
        answer.to_arviz()
