"""Answers as ArviZ keeps results: labelled arrays in groups, with attributes.

Nothing here knows the classes of the answers but by the names of their fields, so that the answers
can offer it as a method.
"""

import json
import math
import warnings
from typing import Any

from bracketz.errors import InputError


def to_arviz(answer: Any) -> Any:
    """An answer as an ``arviz.InferenceData``, or an ``xarray.DataTree`` from ArviZ 1.0 on.

    Of a sandwich there are the groups ``forward`` and ``reverse`` (``log_weight`` by chain, of the
    measurement that is the answer), ``looks`` (every measurement) and, where kernels report,
    ``reports`` (such as ``acceptance``, by distribution from the prior to the posterior). Of an
    estimate there is ``trials``. Bounds, log evidence, certificate, model, seed and version are
    attributes of the whole, so that both can be written by ``to_netcdf`` and read back.

    Args:
        answer: a ``Sandwich`` or an ``Estimate``.

    Returns:
        The groups.

    Raises:
        InputError: ArviZ is not installed, or the answer is neither.

    Example:
        >>> import bracketz as bz, warnings
        >>> from bracketz.interchange.arviz import to_arviz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> groups = to_arviz(bz.sandwich(model, data, gap=4.0, chains=4))
        >>> groups["forward"]["log_weight"].dims
        ('chain',)
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it announces its next version
            import arviz
    except ImportError as error:
        raise InputError('to_arviz needs ArviZ: pip install "bracketz[arviz]"') from error
    if hasattr(answer, "looks") and hasattr(answer, "rungs"):
        groups, attributes = _of_sandwich(answer)
    elif hasattr(answer, "log_ml_trials"):
        groups, attributes = _of_estimate(answer)
    else:
        raise InputError(f"`answer` must be a Sandwich or an Estimate, got {type(answer).__name__}")
    import xarray

    attributes = {"inference_library": "bracketz", **_plain(attributes)}
    sets: dict[str, Any] = {
        name: xarray.Dataset(variables) for name, variables in groups.items() if variables
    }
    if int(arviz.__version__.split(".")[0]) >= 1:
        return xarray.DataTree.from_dict(
            {"/": xarray.Dataset(attrs=attributes)} | {f"/{n}": s for n, s in sets.items()}
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that samplers do not have
        return arviz.InferenceData(attrs=attributes, **sets)


def _of_sandwich(answer) -> tuple[dict, dict]:
    look = answer.looks[-1]
    lengths = {len(values) for values in answer.reports.values()}
    groups = {
        "forward": {"log_weight": ("chain", list(look.forward))},
        "reverse": {"log_weight": ("chain", list(look.reverse))},
        "looks": {
            name: ("look", [getattr(look, name) for look in answer.looks])
            for name in ("effort", "chains", "lower", "upper", "noise")
        },
        "reports": {
            name: ("distribution" if len(lengths) == 1 else f"{name}_distribution", list(values))
            for name, values in answer.reports.items()
        },
    }
    return groups, {
        "model": answer.model,
        "seed": answer.seed,
        "lower": answer.lower,
        "upper": answer.upper,
        "lower_error": answer.lower_error,
        "upper_error": answer.upper_error,
        "log_evidence": answer.log_ml,
        "standard_error": answer.standard_error,
        "log_evidence_by": answer.log_ml_by,
        "certificate_low": answer.certificate.low,
        "certificate_high": answer.certificate.high,
        "certificate_confidence": answer.certificate.confidence,
        "jeffreys_bound": answer.jeffreys_bound,
        "distributions": answer.distributions,
        "converged": answer.converged,
        "path": answer.path,
        "schedule": answer.schedule,
        "inference_library_version": answer.version,
    }


def _of_estimate(answer) -> tuple[dict, dict]:
    by_trial = {
        name: ("trial", list(values))
        for name, values in answer.details.items()
        if hasattr(values, "__len__") and len(values) == len(answer.log_ml_trials)
    }
    certificate = answer.certificate
    groups = {"trials": {"log_evidence": ("trial", list(answer.log_ml_trials)), **by_trial}}
    return groups, {
        "model": answer.model,
        "estimator": answer.estimator,
        "seed": answer.seed,
        "side": str(answer.side),
        "log_evidence": answer.log_ml,
        "standard_error": answer.standard_error,
        "certificate_low": certificate and certificate.low,
        "certificate_confidence": certificate and certificate.confidence,
        "knobs": json.dumps(answer.knobs, default=str),
        "inference_library_version": answer.version,
    }


def _plain(attributes: dict) -> dict:
    """What a netCDF attribute can be: text and finite or infinite numbers; the rest is left out."""
    kept = {name: value for name, value in attributes.items() if value is not None}
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in kept.items()
        if not (isinstance(value, float) and math.isnan(value))
    }
