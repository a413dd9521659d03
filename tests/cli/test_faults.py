"""What went wrong once when somebody tried: files harmed, answers lost, tracebacks."""

import errno
import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest

import bracketz as bz
from bracketz.cli import screen
from bracketz.engine import npz
from bracketz.outputs import own_folder, replaced

SMALL = ("--max-effort", "16", "--first", "16", "--chains", "2")


@pytest.fixture
def simulation(tmp_path):
    """A file of tiny data with their exact sample."""
    path = tmp_path / "sim.npz"
    bz.save(bz.simulate(bz.Clustering(components=2), 4, 1), path)
    return path


# Files.


@pytest.mark.parametrize("name", ["plot", "plot.png"])
def test_a_picture_that_is_somebody_s_stays(command, simulation, tmp_path, name):
    (tmp_path / "plot.png").write_text("mine")
    words = ("--data", simulation, *SMALL, "--plot", tmp_path / name)
    code, out, err = command("sandwich", "clustering", *words)
    assert code == 2 and "plot.png exists; add --force" in err and out == ""
    assert (tmp_path / "plot.png").read_text() == "mine"


def test_an_unknown_kind_of_picture_is_refused_before_the_work(command, simulation, tmp_path):
    words = ("--data", simulation, "--plot", tmp_path / "a.zzz")
    code, out, err = command("sandwich", "clustering", *words)
    assert (code, out) == (2, "") and "must end in .png, .pdf or .svg" in err


def test_the_answer_is_printed_whatever_happens_to_the_picture(
    command, simulation, tmp_path, monkeypatch
):
    def fail(figure, path):
        raise bz.InputError("the disk is full")

    monkeypatch.setattr("bracketz.plots.save_figure", fail)
    words = ("--data", simulation, *SMALL, "--json", "--plot", tmp_path / "a.png")
    code, out, err = command("sandwich", "clustering", *words)
    assert code == 2 and "the disk is full" in err and json.loads(out)["lower"] < 0


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside(tmp_path):
    file = tmp_path / "numbers.csv"
    file.write_text("old")
    with pytest.raises(OSError), replaced(file) as partial:
        partial.write_text("half of the n")
        raise OSError(errno.ENOSPC, "no space")
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["numbers.csv"]


def test_a_folder_for_files_of_ours_keeps_those_of_others(tmp_path):
    (tmp_path / "spec.toml").write_text("mine")
    own_folder(tmp_path, ("report.html",))  # there is none yet: no harm
    with pytest.raises(bz.InputError, match=r"spec\.toml exists and was not written by bracketz"):
        own_folder(tmp_path, ("report.html", "spec.toml"))
    own_folder(tmp_path, ("spec.toml",), force=True)
    own_folder(tmp_path, ("report.html", "spec.toml"))  # ours by now


def test_what_is_refused_leaves_no_folder(command, tmp_path):
    code, _, _ = command("check", "clusterin", "--report", tmp_path / "new")
    assert code == 2 and os.listdir(tmp_path) == []
    code, _, err = command("demo", "--out", __file__)
    assert code == 2 and "is a file, and a folder is needed" in err


# Checkpoints.


def test_a_checkpoint_that_cannot_be_written_is_told_once_and_at_the_end(
    command, simulation, tmp_path, monkeypatch
):
    monkeypatch.setenv("BRACKETZ_CHECKPOINT_SECONDS", "0")
    words = ("sandwich", "clustering", "--data", simulation, *SMALL)
    _, plain, _ = command(*words, "--json")

    def full(path, arrays):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(npz, "write", full)
    kept = tmp_path / "run.ckpt"
    code, out, err = command(*words, "--checkpoint", kept)
    assert code in (0, 1) and "log evidence" in out
    assert err.count("the run goes on without") == 1
    assert err.count("nothing new to resume from") == 1
    _, out, _ = command(*words, "--json", "--checkpoint", kept)
    assert json.loads(out)["lower"] == json.loads(plain)["lower"]


def test_a_checkpoint_changed_by_hand_is_refused(tmp_path):
    path = tmp_path / "run.ckpt"
    bz.Checkpoint(path, {"seed": 0}).save("ais", 7, [np.arange(3.0)])
    assert bz.Checkpoint(path, {"seed": 0}, resume=True).restore("ais")[0] == 7
    arrays = npz.read(path)
    header = json.loads(str(arrays["header"]))
    changed = header | {"streams": {"ais": [-7, 1]}}
    for edit in ({"header": np.array(json.dumps(changed))}, {"ais:0": np.array([0.0, 1.0, 3.0])}):
        npz.write(path, arrays | edit)
        with pytest.raises(bz.InputError, match="damaged or was changed by hand"):
            bz.Checkpoint(path, {"seed": 0}, resume=True)


@pytest.mark.parametrize("text", ["abc", "-1", "nan"])
def test_seconds_between_checkpoints_must_be_seconds(
    command, simulation, tmp_path, monkeypatch, text
):
    monkeypatch.setenv("BRACKETZ_CHECKPOINT_SECONDS", text)
    words = ("--data", simulation, "--checkpoint", tmp_path / "a.ckpt")
    code, _, err = command("sandwich", "clustering", *words)
    assert (
        code == 2
        and f"BRACKETZ_CHECKPOINT_SECONDS must be a number of seconds, got '{text}'" in err
    )


# Hostile files.


def _encrypted(path, simulation):
    """The flag of encryption set in every entry."""
    raw = bytearray(simulation.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = raw.find(signature)
        while at >= 0:
            raw[at + offset] |= 1
            at = raw.find(signature, at + 4)
    path.write_bytes(bytes(raw))


def _with_meta(meta):
    def make(path, simulation):
        npz.write(path, npz.read(simulation) | {"meta": np.array(meta)})

    return make


def _renamed(path, simulation):
    np.save(path.with_suffix(".npy"), np.ones((3, 2)))
    path.with_suffix(".npy").rename(path)


def _zip_of_text(path, simulation):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("y.npy", "no numbers")


HOSTILE = {
    "encrypted": _encrypted,
    "cut": lambda path, simulation: path.write_bytes(simulation.read_bytes()[:400]),
    "empty": lambda path, simulation: path.write_bytes(b""),
    "renamed": _renamed,
    "text": _zip_of_text,
    "list": _with_meta("[1, 2]"),
    "number": _with_meta('{"model": 3, "hyperparameters": {}}'),
    "hyperparameters": _with_meta('{"model": "clustering", "hyperparameters": 4}'),
    "deep": _with_meta("[" * 100_000),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_a_hostile_simulation_is_one_sentence(command, simulation, tmp_path, kind):
    path = tmp_path / "hostile.npz"
    HOSTILE[kind](path, simulation)
    code, out, err = command("sandwich", "clustering", "--data", path)
    assert code == 2 and out == "" and err.startswith("error: ") and err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 no", b"\x93NUMPY\x01\x00\xff\xffjunk"])
def test_a_hostile_array_is_one_sentence(command, tmp_path, content):
    (tmp_path / "a.npy").write_bytes(content)
    code, _, err = command("estimate", "clustering", "ais", "--data", tmp_path / "a.npy")
    assert code == 2 and "is not a NumPy .npy file of numbers" in err


@pytest.mark.parametrize(
    "model, name, value, words",
    [
        (bz.Clustering(2), "assignments", 99, "an assignment is 99"),
        (bz.Clustering(2), "assignments", 0.5, "must hold whole numbers"),
        (bz.BinaryAttributes(2), "attributes", 0.5, "an attribute is 0.5, and can be 0 or 1"),
        (bz.InferredClustering(2), "noise_variance", -1.0, "noise_variance is -1"),
        (bz.LowRank(1), "right", 1e200, "log density"),
    ],
)
def test_an_exact_sample_that_cannot_be_is_refused(tmp_path, model, name, value, words):
    path = tmp_path / "sim.npz"
    bz.save(bz.simulate(model, 4, 1), path)
    arrays = npz.read(path)
    edited = arrays[name].astype(float)
    edited.flat[0] = value
    npz.write(path, arrays | {name: edited})
    with pytest.raises(bz.InputError, match=words):
        bz.load(path, model)


def test_a_name_that_is_too_long_is_one_sentence(command):
    code, _, err = command("estimate", "clustering", "ais", "--data", "a" * 300 + ".csv")
    assert code == 2 and err.startswith("error: ") and err.count("\n") == 1


def test_escape_sequences_of_a_cell_do_not_reach_the_terminal(command, tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,\x1b[31mred\n2,3\n")
    code, _, err = command("estimate", "clustering", "ais", "--data", tmp_path / "a.csv")
    assert code == 2 and "\x1b" not in err and "\\x1b[31mred" in err


# Sizes and numbers.


@pytest.mark.parametrize(
    "words",
    [
        ("--rows", 10**12),
        ("--rows", 10**20),
        ("--columns", 10**13),
        ("--components", 10**11),
        ("--set", f"components={10**20}"),
    ],
)
def test_data_that_no_memory_holds_are_refused(command, tmp_path, words):
    out = tmp_path / "sim.npz"
    code, _, err = command("simulate", "clustering", *words, "--out", out)
    assert code == 2 and ("GB at the least" in err or "below 2^63" in err) and not out.exists()


def test_components_to_compare_that_no_memory_holds_are_refused(command, tmp_path):
    np.save(tmp_path / "y.npy", np.ones((3, 2)))
    words = ("--data", tmp_path / "y.npy", "--components", 10**20)
    code, _, err = command("compare", "clustering", *words)
    assert code == 2 and "GB at the least" in err


def test_chains_that_no_memory_holds_are_refused(simulation):
    model = bz.Clustering(2)
    with pytest.raises(bz.InputError, match=r"a run of 10000000000000 chains or trials takes"):
        bz.estimate(model, bz.load(simulation, model), bz.AIS(distributions=4), trials=10**13)


@pytest.mark.parametrize("path", ["tempered", "prefix"])
@pytest.mark.parametrize("value", [0, -1])
def test_effort_begins_at_one(command, simulation, path, value):
    words = ("--data", simulation, "--path", path, "--first", value)
    code, _, err = command("sandwich", "clustering", *words)
    assert code == 2 and f"first must be at least 1, got {value}" in err


def test_effort_of_evidence_begins_at_one_and_ends_beyond(command, simulation):
    words = ("evidence", "clustering", "--data", simulation)
    assert (
        "--max-effort must be at least --first, 9, got 3"
        in command(*words, "--first", 9, "--max-effort", 3)[2]
    )
    assert "first must be at least 2, got 1" in command(*words, "--first", 1)[2]
    assert "--max-effort must be at least 2, got 1" in command(*words, "--max-effort", 1)[2]


def test_columns_of_no_table_are_refused(command, tmp_path):
    words = ("--observe", "y", "--out", tmp_path / "a.npz")
    code, _, err = command("simulate", "clustering", *words)
    assert code == 2 and "--observe names columns of --data" in err


# The terminal.


def test_a_locale_without_plus_minus_still_shows_the_answer(monkeypatch):
    shown = io.BytesIO()
    stream = io.TextIOWrapper(shown, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    screen.encode_whatever_comes()
    print("-1.5 ± 0.2 × 3 ☃", flush=True)
    assert shown.getvalue() == b"-1.5 +- 0.2 x 3 ?\n"


def test_names_are_shown_as_they_are(capsys):
    screen.Screen(width=60).print("[red]x[/nothing] :smile: \x1b[1m")
    assert capsys.readouterr().out == "[red]x[/nothing] :smile: \\x1b[1m\n"


#: A test run in the background ignores interrupts, and would hand that down.
INTERRUPTIBLE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from bracketz.cli import main
main()
"""


@pytest.fixture
def process(tmp_path):
    """A command in a process of its own."""
    started = []

    def start(*words, **environment):
        command = [sys.executable, "-c", INTERRUPTIBLE, *map(str, words)]
        started.append(
            subprocess.Popen(
                command,
                cwd=tmp_path,
                env=os.environ | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
        return started[-1]

    yield start
    for one in started:
        one.kill()
        one.wait()


def test_a_platform_that_jax_does_not_know_is_one_sentence(process, simulation):
    words = ("sandwich", "clustering", "--data", simulation)
    run = process(*words, JAX_PLATFORMS="zzz")
    _, err = run.communicate(timeout=60)
    assert run.returncode == 2 and err.startswith("error: JAX cannot start: ")
    assert err.count("\n") == 1


def test_who_reads_may_stop_reading(process):
    run = process("models")
    run.stdout.close()
    err = run.stderr.read()
    run.wait(timeout=60)
    assert run.returncode in (0, 1) and "Traceback" not in err and "BrokenPipe" not in err


def test_output_that_cannot_be_written_is_one_sentence(tmp_path):
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "bracketz", "models"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
    assert run.returncode == 2 and run.stderr.startswith("error: cannot write the output")
    assert run.stderr.count("\n") == 1


def test_double_precision_is_asked_for_in_jax_s_words(command, monkeypatch):
    monkeypatch.setenv("JAX_ENABLE_X64", "zzz")
    code, _, err = command("models")
    assert (code, err) == (2, "error: JAX_ENABLE_X64 must be 1 or 0, got 'zzz'\n")


def test_a_number_beyond_counting_is_refused(command, simulation):
    words = ("lw", "--data", simulation, "--proposals", 10**20)
    code, _, err = command("estimate", "clustering", *words)
    assert code == 2 and "proposals must be below 2^63" in err


def test_ctrl_c_says_how_to_go_on(process, simulation, tmp_path):
    kept = tmp_path / "run.ckpt"
    words = ("sandwich", "clustering", "--data", simulation, "--gap", "1e-9", "--checkpoint", kept)
    run = process(*words, BRACKETZ_CHECKPOINT_SECONDS="0")
    began = time.monotonic()
    while not kept.exists() and time.monotonic() - began < 60:
        time.sleep(0.05)
    run.send_signal(signal.SIGINT)
    _, err = run.communicate(timeout=60)
    assert run.returncode == 130 and "stopped;" in err and "--resume" in err
    assert "Traceback" not in err
