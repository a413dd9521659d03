"""The truth of every data set: our own sandwich, beside a closed form or quadrature where there is
one.

Kept in ``truths/PROBLEM.json`` with the command, seeds and versions that made it. The sandwich uses
the parameters that made the data, which no tool ever sees, so both its bounds are certified.
"""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bracketz._version import __version__
from bracketz.errors import InputError
from bracketz.outputs import write_text
from bracketz.testbed.league.catalogue import ProblemEntry
from bracketz.testbed.league.datasets import Dataset, simulate

#: A truth is accepted with a gap below this and Bennett's error below that.
GAP, ERROR = 0.1, 0.03
#: Nats that quadrature may be off.
ROUNDING = 1e-3
#: What the sandwich is asked for. Each look takes twice the effort of the one before.
CHAINS, LOOKS, CONFIDENCE = 2048, 3, 0.95


@dataclass(frozen=True)
class Truth:
    """The log evidence of one data set.

    Attributes:
        problem, data_seed, data: whose; the hash of the data.
        log_z: the value that tools are compared with: exact where it is known, else Bennett's.
        error: its standard error; 0 where it is exact.
        by: "closed form", "quadrature" or "sandwich".
        bennett, bennett_error: the sandwich's point estimate.
        lower, upper: the sandwich's bounds.
        certificate: its certified interval, low and high.
        accepted: a gap of at most 0.1 (up to its noise) and Bennett's error below 0.03. Only the
            certificate is certified: both directions may miss a region that the one exact sample
            is not in, and then gap and error are small and wrong. See ``agrees``.
        seed, seconds: of the sandwich.
    """

    problem: str
    data_seed: int
    data: str
    log_z: float
    error: float
    by: str
    bennett: float
    bennett_error: float
    lower: float
    upper: float
    certificate: tuple[float, float]
    accepted: bool
    seed: int
    seconds: float

    @property
    def gap(self) -> float:
        return self.upper - self.lower

    @property
    def agrees(self) -> bool | None:
        """Whether Bennett's estimate is where the exact value is; None where there is none."""
        if self.by == "sandwich":
            return None
        return abs(self.bennett - self.log_z) <= 3 * self.bennett_error + ROUNDING


def model_of(problem: Any) -> Any:
    """A problem as a model of ours, by the same functions that other tools get.

    Args:
        problem: as a worker has it.
    """
    from bracketz.adapters.functions import from_functions
    from bracketz.core.precision import double_precision

    with double_precision():
        parts = problem.jax
    return from_functions(
        lambda x, y: parts._module.log_likelihood(x, y, parts._c, parts._m),
        log_prior=parts.log_prior,
        sample_prior=parts.sample_prior,
        name=problem.name,
    )


def settle(
    problem: ProblemEntry,
    seeds: list[int],
    *,
    chains: int = CHAINS,
    effort: int | None = None,
    from_prior: bool = False,
    looks: int = LOOKS,
) -> Iterator[Truth]:
    """The truth of some data sets; all of them share one compiled program.

    Args:
        problem: whose.
        seeds: which data sets.
        chains: of a sandwich, in each direction.
        effort: measure once, at so many distributions; None: a ladder of forward runs decides,
            which one lost chain among thousands (a heavy tail) leads astray.
        from_prior: begin at the prior, not at a fitted normal, whose tails may be too light.
        looks: measurements, where a ladder decides.
    """
    from bracketz.data.dataset import Data
    from bracketz.inference import sandwich

    model = None
    for seed in seeds:
        data = simulate(problem, seed)
        model = model or model_of(data.for_tools())
        answer = sandwich(
            model,
            Data(data.y, exact=data.theta),
            gap=GAP,
            chains=chains,
            looks=1 if effort else looks,
            first=effort,
            max_effort=effort,
            reference=False if from_prior else None,
            confidence=CONFIDENCE,
            seed=1000 + seed,
        )
        exact = data.exact()
        yield Truth(
            problem=problem.name,
            data_seed=seed,
            data=data.fingerprint,
            log_z=answer.log_ml if exact is None else exact,
            error=answer.standard_error if exact is None else 0.0,
            by="sandwich" if exact is None else str(problem.exact),
            bennett=answer.log_ml,
            bennett_error=answer.standard_error,
            lower=answer.lower,
            upper=answer.upper,
            certificate=(answer.certificate.low, answer.certificate.high),
            accepted=bool(answer.converged and answer.standard_error < ERROR),
            seed=1000 + seed,
            seconds=round(answer.seconds.run, 3),
        )


def exactly(problem: ProblemEntry, seed: int = 0) -> Truth:
    """Of a data set whose evidence is known without sampling, and which nobody has simulated."""
    data = simulate(problem, seed)
    value = _value(data)
    return Truth(
        problem.name, seed, data.fingerprint, value, 0.0, str(problem.exact), value, 0.0, value,
        value, (value, value), True, 0, 0.0,
    )  # fmt: skip


def _value(data: Dataset) -> float:
    value = data.exact()
    if value is None:
        raise InputError(f"{data.problem.name} needs an `exact` evidence: its data are given")
    return value


def write(
    problem: ProblemEntry,
    truths: list[Truth],
    folder: Path | None = None,
    *,
    chains: int = CHAINS,
    effort: int | None = None,
    from_prior: bool = False,
) -> Path:
    """The file of a problem, with what made it; among its own (``ProblemEntry.truths``) where no
    folder is given."""
    import jax
    import numpy as np

    file = (folder or problem.truths) / f"{problem.name}.json"
    kept = {
        "problem": problem.name,
        "command": (
            f"bracketz league truth --problems {problem.name} --datasets {len(truths)}"
            f" --chains {chains}"
            + (f" --effort {effort}" if effort else "")
            + (" --from-prior" if from_prior else "")
            + (" --out truths" if problem.shipped else f" --add {problem.file.name}")
        ),
        "device": jax.devices()[0].device_kind,
        "asked": {
            "gap": GAP,
            "chains": chains,
            "effort": effort,
            "from_prior": from_prior,
            "looks": 1 if effort else LOOKS,
            "confidence": CONFIDENCE,
        },
        "versions": {"bracketz": __version__, "jax": jax.__version__, "numpy": np.__version__},
        "truths": [asdict(truth) for truth in truths],
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    write_text(file, json.dumps(kept, indent=1) + "\n")
    return file


def read(problem: ProblemEntry, folder: Path | None = None) -> dict[int, Truth]:
    """By data seed; what is in the file, checked against the data as they are simulated today."""
    if problem.suite != "league":
        return {0: exactly(problem)}
    file = (folder or problem.truths) / f"{problem.name}.json"
    if not file.is_file():
        return {}
    found = {}
    for kept in json.loads(file.read_text(encoding="utf-8"))["truths"]:
        truth = Truth(**{**kept, "certificate": tuple(kept["certificate"])})
        if simulate(problem, truth.data_seed).fingerprint != truth.data:
            raise InputError(
                f"the truth of {problem.name}, data {truth.data_seed}, is of other data than are"
                " simulated here: make it again with league truth"
            )
        found[truth.data_seed] = truth
    return found
