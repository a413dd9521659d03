"""The loop: one compilation for every length, and bits that do not depend on how the
work is cut."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from bracketz import (
    AIS,
    SMC,
    Clustering,
    InputError,
    LikelihoodWeighting,
    NumericalError,
    Program,
    ReverseAIS,
    Session,
    estimate,
    pytree_dataclass,
    run_chains,
    simulate,
)
from bracketz.engine import run as loop
from bracketz.engine.anneal import Forward, Reverse
from bracketz.engine.checkpoint import Checkpoint
from bracketz.engine.recorder import Recorded
from bracketz.paths import Tempered

MODEL = Clustering(components=4)
DATA = simulate(MODEL, 12, 3, seed=0)


@pytest.mark.slow
def test_one_compilation_serves_every_number_of_distributions():
    estimate(MODEL, DATA, AIS(distributions=3), trials=6)
    before = loop.trace_count
    for distributions in (10, 137, 5000):
        estimate(MODEL, DATA, AIS(distributions=distributions), trials=6)
    other = Clustering(components=4, noise_variance=3.3, center_variance=0.2)
    estimate(
        other, simulate(other, 12, 3, seed=9), AIS(distributions=20, sweeps=3), trials=6, seed=5
    )
    assert loop.trace_count == before


@pytest.mark.slow
def test_number_of_transitions_and_proposals_do_not_compile_again():
    for make in (lambda n: SMC(transitions=n), lambda n: LikelihoodWeighting(proposals=n)):
        estimate(MODEL, DATA, make(1), trials=6)
        before = loop.trace_count
        for n in (2, 17):
            estimate(MODEL, DATA, make(n), trials=6)
        assert loop.trace_count == before


@pytest.mark.slow
def test_what_is_compiled_together_is_not_compiled_again():
    """Neither the loop nor its small functions, and nothing at all for programs that are compiled
    already."""
    compiled = []

    def listen(event, seconds, **what):
        if event.endswith("backend_compile_duration"):
            compiled.append(str(what.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    own = ("jit(_advance)", "jit(_start)", "jit(_log_values)")
    model = Clustering(components=3)  # a program no other test has
    data = simulate(model, 11, 3)
    programs = [
        Forward(model, data.y, Tempered().through(20)),
        Reverse(model, data.y, Tempered().through(20), data.exact),
    ]
    loop.compile_together(programs, chains=5)
    assert sorted(name for name in compiled if name in own) == sorted(2 * own)
    compiled.clear()
    estimate(model, data, AIS(distributions=7), trials=5)
    estimate(model, data, ReverseAIS(distributions=7), trials=5)
    loop.compile_together(programs, chains=5)
    assert not [name for name in compiled if name in own]


def test_bits_do_not_depend_on_the_chunks(monkeypatch):
    whole = estimate(MODEL, DATA, AIS(distributions=200), trials=5).log_ml_trials
    monkeypatch.setattr(loop, "CHUNK_SECONDS", 1e-9)  # one edge a chunk
    assert estimate(MODEL, DATA, AIS(distributions=200), trials=5).log_ml_trials == whole


@pytest.mark.slow
def test_chains_and_seeds_and_streams_are_independent():
    first = np.array(estimate(MODEL, DATA, AIS(distributions=5), trials=40).log_ml_trials)
    assert len(set(first.tolist())) == 40  # no key is used twice
    assert not np.isin(
        first, estimate(MODEL, DATA, AIS(distributions=5), trials=40, seed=1).log_ml_trials
    ).any()


@pytree_dataclass
class Count(Program):
    """Its value is the number of steps; quick to compile."""

    def start(self, key):
        return jnp.zeros(())

    def step(self, key, carry, index):
        return carry + 1

    def log_value(self, carry):
        return carry


@pytest.mark.parametrize("chains", [1, 2, 3, 7, 130])
def test_layout_covers_all_chains(chains):
    block, blocks, devices = loop._layout(chains, jax.devices())
    assert block * blocks >= chains and blocks % len(devices) == 0
    assert block == loop._layout(chains, jax.devices()[:1])[0]
    outcome = loop.run_chains(Count(), 3, chains=chains, seed=0, stream="count")
    assert outcome.log_values.tolist() == [3.0] * chains


def test_layout_halves_the_chains_within_the_limits_of_a_block():
    """So that two devices have work; on an accelerator only where a half is still large."""
    cpu, gpu = (SimpleNamespace(platform=name) for name in ("cpu", "gpu"))
    assert loop._layout(7, [cpu, cpu]) == (4, 2, [cpu, cpu])
    assert loop._layout(1000, [cpu, cpu]) == (64, 16, [cpu, cpu])
    assert loop._layout(100, [gpu, gpu]) == (100, 1, [gpu])
    assert loop._layout(10_000, [gpu]) == (5000, 2, [gpu])


RUN = textwrap.dedent(
    """
    import json, sys
    from bracketz import AIS, SHME, BinaryAttributes, Clustering, LowRank, estimate, simulate
    from bracketz.engine.anneal import Forward
    from bracketz.engine.run import compile_together
    from bracketz.paths import Tempered
    import jax
    out = {}
    for model, (n, d), e in ((Clustering(components=4), (12, 3), SHME(particles=3)),
                             (LowRank(components=2), (9, 4), AIS(distributions=60)),
                             (BinaryAttributes(components=3), (8, 4), AIS(distributions=60))):
        data = simulate(model, n, d, seed=0)
        answer = estimate(model, data, e, trials=9)
        out[f"{type(model).__name__} {e.name}"] = answer.log_ml_trials
    compiled = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, seconds, **what: compiled.append(what.get("fun_name"))
        if "backend_compile" in event else None)
    model = Clustering(components=3)
    data = simulate(model, 11, 4)
    compile_together([Forward(model, data.y, Tempered().through(20))], chains=5)
    estimate(model, data, AIS(distributions=7), trials=5)
    print(json.dumps({"devices": len(jax.devices()), "values": out,
                      "twice": compiled.count("jit(_advance)") - 1}))
    """
)


@pytest.mark.slow
def test_same_bits_in_another_process_on_one_and_on_two_devices(capsys):
    answers = {}
    here = len(jax.devices())
    for devices in {1, 2} - {here}:
        flags = (
            f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={devices}"
        )
        env = os.environ | {"XLA_FLAGS": flags}
        done = subprocess.run(
            [sys.executable, "-c", RUN], env=env, capture_output=True, text=True, check=True
        )
        answers[devices] = json.loads(done.stdout)
    exec(RUN, {})
    answers[here] = json.loads(capsys.readouterr().out)
    for devices, answer in answers.items():
        assert answer["devices"] == devices
        assert answer["values"] == answers[here]["values"]
        # The shell of a library's user: JAX_ENABLE_X64 is not set.
        assert answer["twice"] == 0


@pytest.mark.parametrize(
    "first",
    [
        "bz.prepare(bz.InferredClustering(2), np.zeros((4, 2)))",
        "bz.estimate(bz.Clustering(2), np.zeros((4, 2)), bz.AIS(distributions=3), trials=1)",
        "bz.from_functions(lambda x, y: -(y - x) ** 2, log_prior=lambda x: -x**2 / 2,"
        " sample_prior=jax.random.normal)",
    ],
    ids=("prepare", "estimate", "functions"),
)
def test_observed_data_are_computed_with_by_all_cores(first):
    """JAX counts its devices at the first computation, which must not be before they are set."""
    text = f"""
import jax, numpy as np, bracketz as bz
from bracketz.models import hyper_pilot
hyper_pilot.SWEEPS, hyper_pilot.DISTRIBUTIONS = 2, 3
{first}
from bracketz.engine.devices import _cores
assert len(jax.devices()) == _cores(), jax.devices()
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


SANDWICH = [
    "sandwich",
    "binary-attributes",
    "--rows",
    "30",
    "--columns",
    "8",
    "--components",
    "6",
    "--gap",
    "0.05",
    "--first",
    "64",
    "--max-effort",
    "2048",
    "--chains",
    "8",
    "--json",
]


@pytest.mark.slow
def test_a_run_killed_twice_resumes_to_the_same_bits(tmp_path, command):
    """The second kill is of a run that was itself resumed."""
    code, whole, error = command(*SANDWICH)
    assert code == 1, error  # the gap asked for takes more
    expected = json.loads(whole)
    file = tmp_path / "run.ckpt"
    resuming = [*SANDWICH, "--checkpoint", str(file), "--resume"]
    env = os.environ | {"BRACKETZ_CHECKPOINT_SECONDS": "0.05"}
    for _ in range(2):
        process = subprocess.Popen(
            [sys.executable, "-m", "bracketz", *resuming],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=env,
        )
        before = file.stat().st_mtime_ns if file.exists() else 0
        limit = time.monotonic() + 90
        while time.monotonic() < limit and process.poll() is None:
            if file.exists() and file.stat().st_mtime_ns > before:
                break
            time.sleep(0.02)
        time.sleep(0.1)  # let it pass a few more
        assert process.poll() is None  # in the middle of its work
        process.send_signal(signal.SIGKILL)
        process.wait()
    code, final, error = command(*resuming)
    assert code == 1, error
    answer = json.loads(final)
    for key in (
        "lower",
        "upper",
        "log_ml",
        "standard_error",
        "distributions",
        "rungs",
        "looks",
        "converged",
    ):
        assert answer[key] == expected[key], key


def test_resuming_skips_finished_work_and_gives_the_same_values(tmp_path):
    expected = estimate(MODEL, DATA, AIS(distributions=300), trials=5).log_ml_trials
    identity = {"what": "test"}
    file = tmp_path / "c"

    def attempt(max_seconds=None):
        checkpoint = Checkpoint(file, identity, resume=True, every_seconds=0.0)
        session = Session(checkpoint=checkpoint, max_seconds=max_seconds)
        return estimate(MODEL, DATA, AIS(distributions=300), trials=5, session=session)

    with pytest.raises(InputError, match="did not finish"):
        attempt(max_seconds=1e-9)
    assert attempt().log_ml_trials == expected
    again = attempt()
    assert again.log_ml_trials == expected and again.seconds.run == 0.0


def test_foreign_and_damaged_checkpoints_are_refused_untouched(tmp_path):
    file = tmp_path / "c"
    Checkpoint(file, {"seed": 1, "gap": 1.0}).save("s", 3, [np.zeros(2)])
    content = file.read_bytes()
    with pytest.raises(InputError, match=r"another run \(it differs in seed\)"):
        Checkpoint(file, {"seed": 2, "gap": 1.0}, resume=True)
    with pytest.raises(InputError, match="exists; add `resume=True`"):
        Checkpoint(file, {"seed": 1, "gap": 1.0})
    assert file.read_bytes() == content
    for junk in (b"", b"not a zip", content[: len(content) // 2]):
        file.write_bytes(junk)
        with pytest.raises(InputError, match="not a bracketz checkpoint"):
            Checkpoint(file, {"seed": 1, "gap": 1.0}, resume=True)
        assert file.read_bytes() == junk


def test_interrupt_keeps_the_checkpoint(tmp_path):
    """Ctrl-C between chunks: the exception passes through and the file on disk is whole."""

    class Impatient:
        def begin(self, *_): ...
        def end(self): ...
        def note(self, text): ...
        def advance(self, done, value):
            if done > 20:
                raise KeyboardInterrupt

    file = tmp_path / "c"
    expected = estimate(MODEL, DATA, AIS(distributions=3000), trials=5).log_ml_trials
    session = Session(checkpoint=Checkpoint(file, {}, every_seconds=0.0), progress=Impatient())
    with pytest.raises(KeyboardInterrupt):
        estimate(MODEL, DATA, AIS(distributions=3000), trials=5, session=session)
    resumed = Session(checkpoint=Checkpoint(file, {}, resume=True))
    assert (
        estimate(MODEL, DATA, AIS(distributions=3000), trials=5, session=resumed).log_ml_trials
        == expected
    )


@pytree_dataclass
class TurnsInto(Program):
    """Its value is 0, and from step ``when`` on ``what``, in chain after chain."""

    what: float
    when: int = 7
    forbidden: float | None = None

    @property
    def impossible(self):
        return self.forbidden

    def start(self, key):
        return jnp.zeros(())

    def step(self, key, carry, index):
        return jnp.where(index + 1 >= self.when, self.what, carry)

    def log_value(self, carry):
        return carry


def turned(program, session=None):
    # More steps than anybody has time for: "at once" means that the run stops by itself.
    return run_chains(program, 1 << 40, chains=3, seed=0, stream="turns", session=session)


def test_not_a_number_ends_a_run_at_once():
    with pytest.raises(NumericalError, match=r"'turns' gave a log evidence of nan in 3 of 3 "):
        turned(TurnsInto(np.nan))
    # Before anything was done there may be nothing to say.
    zero = run_chains(TurnsInto(np.nan), 3, chains=3, seed=0, stream="turns")
    assert zero.log_values.tolist() == [0.0, 0.0, 0.0]


def test_an_infinity_ends_a_run_where_it_is_impossible():
    with pytest.raises(NumericalError, match=r"a log evidence of inf .* take a larger noise"):
        turned(TurnsInto(np.inf, 7, np.inf))
    for what, forbidden in ((np.inf, None), (-np.inf, np.inf), (np.inf, -np.inf)):
        program = TurnsInto(what, 2, forbidden)
        outcome = run_chains(program, 5, chains=3, seed=0, stream="turns")
        assert outcome.log_values.tolist() == [what] * 3


def test_annealing_may_have_weight_zero_and_never_an_infinite_one():
    path = Tempered().through(5)
    forward, reverse = Forward(MODEL, DATA.y, path), Reverse(MODEL, DATA.y, path, DATA.exact)
    assert forward.impossible == np.inf and reverse.impossible == -np.inf
    assert Recorded(forward).impossible == np.inf and Recorded(reverse).impossible == -np.inf
