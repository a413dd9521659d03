"""The contract: commands, JSON fields, exit codes, and one sentence for every kind of bad input."""

import inspect
import json
import os

import numpy as np
import pytest

from bracketz.errors import NumericalError

SMALL = ("--rows", "8", "--columns", "3", "--components", "2")


SIMULATED: list[bytes] = []


@pytest.fixture
def sim(bracketz, tmp_path):
    """sim.npz, simulated once for all tests."""
    if not SIMULATED:
        assert bracketz("simulate", "clustering", *SMALL, "--out", "sim.npz")[0] == 0
        SIMULATED.append((tmp_path / "sim.npz").read_bytes())
    (tmp_path / "sim.npz").write_bytes(SIMULATED[0])


NAMES = {
    "clustering": {"assignments": (8,), "centers": (2, 3)},
    "low-rank": {"left": (8, 2), "right": (2, 3)},
    "binary-attributes": {"attributes": (8, 2), "features": (2, 3)},
}


@pytest.mark.slow
@pytest.mark.parametrize("model", NAMES)
def test_simulate_keeps_the_exact_sample(bracketz, model, tmp_path):
    code, _, _ = bracketz(
        "simulate", model, *SMALL, "--seed", 3, "--set", "noise_variance=0.5", "--out", "s.npz"
    )
    assert code == 0
    with np.load(tmp_path / "s.npz") as file:
        assert file["y"].shape == (8, 3)
        for name, shape in NAMES[model].items():
            assert file[name].shape == shape
        meta = json.loads(str(file["meta"]))
    assert (
        meta["model"] == model
        and meta["seed"] == 3
        and meta["hyperparameters"]["noise_variance"] == 0.5
    )
    code, out, _ = bracketz(
        "sandwich", model, "--data", "s.npz", "--chains", 5, "--gap", 3, "--json"
    )
    assert code == 0 and json.loads(out)["converged"]


ESTIMATE_KEYS = {
    "model",
    "estimator",
    "side",
    "log_ml",
    "log_ml_trials",
    "standard_error",
    "standard_error_note",
    "trials",
    "knobs",
    "seed",
    "seconds",
    "version",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, knob, side",
    [
        ("lw", "--proposals", "lower"),
        ("hme", "--proposals", "upper"),
        ("ais", "--distributions", "lower"),
        ("reverse-ais", "--distributions", "upper"),
        ("smc", "--transitions", "lower"),
        ("shme", "--transitions", "upper"),
    ],
)
def test_estimate_json(bracketz, sim, name, knob, side):
    code, out, err = bracketz(
        "estimate",
        "clustering",
        name,
        "--data",
        "sim.npz",
        "--trials",
        4,
        knob,
        7,
        "--seed",
        2,
        "--json",
    )
    answer = json.loads(out)
    assert code == 0 and err == "" and set(answer) >= ESTIMATE_KEYS
    assert answer["side"] == side and answer["trials"] == 4 == len(answer["log_ml_trials"])
    assert answer["knobs"][knob[2:]] == 7 and answer["seed"] == 2
    assert set(answer["seconds"]) == {"run", "compile"}


SANDWICH_KEYS = {
    "model",
    "lower",
    "upper",
    "gap",
    "log_ml",
    "standard_error",
    "certificate",
    "jeffreys_bound",
    "distributions",
    "chains",
    "seed",
    "converged",
    "seconds",
    "version",
}


@pytest.mark.slow
def test_sandwich_json_and_exit_codes(bracketz):
    code, out, _ = bracketz("sandwich", "low-rank", *SMALL, "--chains", 5, "--gap", 2, "--json")
    answer = json.loads(out)
    assert code == 0 and set(answer) >= SANDWICH_KEYS
    certificate = answer["certificate"]
    assert certificate["low"] < answer["lower"] and answer["upper"] < certificate["high"]
    assert certificate["confidence"] == 0.9 and certificate["looks"] == 1
    np.testing.assert_allclose(answer["gap"], answer["upper"] - answer["lower"])
    # Out of time: an honest answer, not converged, exit code 1. (With seed 1 the bounds of the
    # first rung do not cross.)
    words = ("--chains", 5, "--gap", 1e-9, "--max-seconds", 0.001, "--seed", 1, "--json")
    code, out, _ = bracketz("sandwich", "low-rank", *SMALL, *words)
    assert code == 1 and json.loads(out)["converged"] is False


@pytest.mark.slow
def test_sandwich_on_an_adapted_schedule(bracketz):
    words = (
        "sandwich",
        "low-rank",
        *SMALL,
        "--chains",
        5,
        "--gap",
        2,
        "--schedule",
        "adapted",
        "--pilot",
        40,
    )
    code, out, _ = bracketz(*words, "--json")
    answer = json.loads(out)
    assert code == 0 and set(answer) >= SANDWICH_KEYS and answer["schedule"] == "adapted"
    assert sum(answer["split"].values()) == pytest.approx(answer["jeffreys_bound"])
    assert answer["predicted"].keys() == {"gap", "distributions", "chains", "seconds"}
    assert answer["pilot"]["distributions"] == 40
    _, out, _ = bracketz(*words, "--checkpoint", "a.npz")
    assert "of it the pilot" in out and "the schedule costs" in out
    _, out, _ = bracketz(*words, "--checkpoint", "a.npz", "--resume", "--json")
    same = ("lower", "upper", "log_ml", "split", "distributions")
    assert [json.loads(out)[k] for k in same] == [answer[k] for k in same]


def test_the_same_seed_gives_the_same_numbers(bracketz, sim):
    words = ("estimate", "clustering", "ais", "--data", "sim.npz", "--distributions", 20, "--json")
    values = [json.loads(bracketz(*words)[1])["log_ml_trials"] for _ in range(2)]
    assert values[0] == values[1]


@pytest.mark.slow
def test_observed_data_as_csv_and_npy(bracketz, tmp_path):
    y = np.random.default_rng(0).normal(size=(8, 3))
    np.save(tmp_path / "y.npy", y)
    np.savetxt(tmp_path / "y.csv", y, delimiter=",", header="a,b,c", comments="", fmt="%.17g")
    answers = []
    for file in ("y.npy", "y.csv"):
        code, out, _ = bracketz(
            "estimate",
            "clustering",
            "ais",
            "--data",
            file,
            "--components",
            2,
            "--distributions",
            9,
            "--json",
        )
        assert code == 0
        answers.append(json.loads(out)["log_ml"])
    assert answers[0] == answers[1]
    code, out, _ = bracketz(
        "estimate", "clustering", "hme", "--data", "y.npy", "--components", 2, "--json"
    )
    assert code == 0 and json.loads(out)["side"] == "none"


def test_lists(bracketz):
    code, out, _ = bracketz("models", "--json")
    listed = [m["name"] for m in json.loads(out)["models"]]
    inferred = [f"inferred-{name}" for name in NAMES]
    factored = ["decoder", "cox", "grouped-logistic"]
    assert code == 0 and listed == [*NAMES, *inferred, "ising", "potts", "rbm", *factored]
    code, out, _ = bracketz("estimators", "--json")
    listed = {e["name"]: e for e in json.loads(out)["estimators"]}
    assert listed["ais"]["side"] == "lower" and listed["reverse-ais"]["side"] == "upper"
    for words in (
        ("models",),
        ("estimators",),
        (),
        ("--help",),
        ("sandwich", "--help"),
        ("--version",),
    ):
        code, out, _ = bracketz(*words)
        assert code == 0 and out


@pytest.mark.slow
def test_readable_output(bracketz, sim):
    code, out, _ = bracketz(
        "estimate", "clustering", "ais", "--data", "sim.npz", "--distributions", 9
    )
    assert code == 0 and "stochastic lower bound" in out
    code, out, _ = bracketz(
        "sandwich", "clustering", "--data", "sim.npz", "--gap", 5, "--plot", "p.png"
    )
    assert code == 0 and "certificate" in out


BAD = [
    (("sandwich", "clusterin"), "did you mean 'clustering'"),
    (("sandwich", "no_such_module:Model"), "no module 'no_such_module'"),
    (("sandwich", "json:JSONDecoder"), "not a bracketz.Model"),
    (("estimate", "clustering", "as", "--data", "sim.npz"), "did you mean 'ais'"),
    (
        ("estimate", "clustering", "ais", "--data", "sim.npz", "--distribution", 9),
        "did you mean 'distributions'",
    ),
    (
        ("estimate", "clustering", "ais", "--data", "sim.npz", "--distributions", "many"),
        "whole number, got 'many'",
    ),
    (("estimate", "clustering", "ais", "--data", "sim.npz", "--distributions", 1), "at least 2"),
    (("estimate", "clustering", "ais", "--data", "sim.npz", "--distributions"), "needs a value"),
    (("estimate", "clustering", "ais", "--data", "sim.npz", "stray"), "unexpected 'stray'"),
    (("estimate", "clustering", "ais", "--data", "sim.npz", "--trials", 0), "at least 1, got 0"),
    (("estimate", "clustering", "lw", "--data", "sim.npz", "--proposals", 0), "at least 1, got 0"),
    (
        ("estimate", "clustering", "smc", "--data", "sim.npz", "--particles", -1),
        "at least 1, got -1",
    ),
    (
        ("estimate", "clustering", "smc", "--data", "sim.npz", "--resampling", "sytematic"),
        "did you mean 'systematic'",
    ),
    (
        ("estimate", "clustering", "smc", "--data", "sim.npz", "--resample-threshold", 2),
        "between 0 (never) and 1",
    ),
    (("estimate", "clustering", "hme", "--data", "y.csv", "--start", "exact"), "--start chain"),
    (
        ("estimate", "clustering", "reverse-ais", "--data", "y.csv"),
        "upper bound only from an exact posterior sample",
    ),
    (
        ("estimate", "clustering", "shme", "--data", "y.csv"),
        "upper bound only from an exact posterior sample",
    ),
    (("sandwich", "clustering", "--data", "y.csv"), "exact posterior sample"),
    (("estimate", "clustering", "ais", "--data", "none.csv"), "no file none.csv"),
    (("estimate", "clustering", "ais", "--data", "nan.csv"), "column 1 of nan.csv holds 'nan'"),
    (("estimate", "clustering", "ais", "--data", "inf.csv"), "column 'b' of inf.csv holds 'inf'"),
    (
        ("estimate", "clustering", "ais", "--data", "ragged.csv"),
        "row 2 of ragged.csv has 1 values and the first has 2",
    ),
    (
        ("estimate", "clustering", "ais", "--data", "words.csv"),
        "column 2 of words.csv holds 'b' at row 2, which is not a number",
    ),
    (("estimate", "clustering", "ais", "--data", "empty.csv"), "has no rows of numbers"),
    (("estimate", "clustering", "ais", "--data", "binary.csv"), "not a text file"),
    (("estimate", "clustering", "ais", "--data", "fake.npz"), "not an .npz file"),
    (("estimate", "clustering", "ais", "--data", "fake.npy"), "not a NumPy .npy file"),
    (("estimate", "clustering", "ais", "--data", "objects.npy"), "not a NumPy .npy file"),
    (("estimate", "clustering", "ais", "--data", "other.npz"), "lacks y or meta"),
    (("estimate", "clustering", "ais", "--data", "data.xls"), "must end in .npz"),
    (("estimate", "low-rank", "ais", "--data", "sim.npz"), "was simulated from clustering"),
    (
        ("sandwich", "clustering", "--data", "narrow.npz"),
        "'centers' in narrow.npz has shape (2, 2)",
    ),
    (
        ("sandwich", "clustering", "--data", "sim.npz", "--set", "noise_variance=9"),
        "was simulated with noise_variance",
    ),
    (("sandwich", "clustering", "--data", "sim.npz", "--rows", 9), "leave them out with --data"),
    (("simulate", "clustering", "--components", 0, "--out", "new.npz"), "at least 1, got 0"),
    (("simulate", "low-rank", "--components", -2, "--out", "new.npz"), "at least 1, got -2"),
    (("simulate", "clustering", "--rows", 0, "--out", "new.npz"), "rows must be at least 1"),
    (("simulate", "clustering", "--seed", -1, "--out", "new.npz"), "seed must be"),
    (("simulate", "clustering", "--out", "new.csv"), "must end in .npz"),
    (("simulate", "clustering", "--out", "no/folder.npz"), "does not exist"),
    (("simulate", "clustering", "--out", "sim.npz"), "add --force"),
    (
        ("simulate", "clustering", "--set", "noise_variance=0", "--out", "new.npz"),
        "positive number, got 0",
    ),
    (
        ("simulate", "clustering", "--set", "noise_variance=nan", "--out", "new.npz"),
        "positive number, got nan",
    ),
    (("sandwich", "clustering", "--set", "noise_variance=inf"), "positive number, got inf"),
    (("sandwich", "low-rank", "--set", "left_variance=-1"), "positive number, got -1"),
    (
        ("estimate", "clustering", "ais", "--data", "sim.npz", "--delta", "inf"),
        "delta must be positive, at least 1e-6 and finite, got inf",
    ),
    (("estimate", "clustering", "ais", "--data", "sim.npz", "--delta", "nan"), "finite, got nan"),
    (
        ("estimate", "clustering", "vb", "--data", "huge.csv", "--json"),
        "the data hold -1e+308 at row 2, column 1, and its square over the noise variance of 1.98",
    ),
    (("compare", "--data", "huge.csv", "--json"), "standardise the columns"),
    (
        ("simulate", "clustering", "--set", "noise_variance=1,2", "--out", "new.npz"),
        "must be one number",
    ),
    (
        ("simulate", "clustering", "--set", "nois_variance=1", "--out", "new.npz"),
        "did you mean 'noise_variance'",
    ),
    (("simulate", "clustering", "--set", "noise_variance", "--out", "new.npz"), "takes NAME=VALUE"),
    (("simulate", "clustering", "--set", "noise_variance=x", "--out", "new.npz"), "got 'x'"),
    (
        ("simulate", "clustering", *SMALL, "--set", "mixture=0.5,0.6", "--out", "new.npz"),
        "sum to 1",
    ),
    (
        ("simulate", "clustering", *SMALL, "--set", "mixture=1.0,0.0", "--out", "new.npz"),
        "inside (0, 1)",
    ),
    (
        ("simulate", "clustering", *SMALL, "--set", "mixture=0.2,0.3,0.5", "--out", "new.npz"),
        "got 3",
    ),
    (
        ("simulate", "binary-attributes", "--set", "attribute_probability=1.5", "--out", "new.npz"),
        "inside (0, 1)",
    ),
    (
        (
            "simulate",
            "binary-attributes",
            "--set",
            "attribute_probability=0.5,0.5",
            "--out",
            "new.npz",
        ),
        "got 2",
    ),
    (
        ("simulate", "binary-attributes", "--set", "row_update=hole", "--out", "new.npz"),
        "did you mean 'whole'",
    ),
    (
        (
            "simulate",
            "binary-attributes",
            "--components",
            20,
            "--set",
            "row_update=whole",
            "--out",
            "new.npz",
        ),
        "use row_update=bits",
    ),
    (
        ("estimate", "clustering", "nested", "--data", "sim.npz", "--particles", 1),
        "at least 2, got 1",
    ),
    (
        ("estimate", "clustering", "nested", "--data", "sim.npz", "--transitions", 0),
        "at least 1, got 0",
    ),
    (("estimate", "clustering", "vb", "--data", "sim.npz", "--restarts", 0), "at least 1, got 0"),
    (("estimate", "clustering", "vb", "--data", "y.csv", "--start", "hint"), "use --start random"),
    (("estimate", "clustering", "cms", "--data", "sim.npz", "--samples", 0), "at least 1, got 0"),
    (("estimate", "clustering", "cms", "--data", "y.csv", "--point", "exact"), "use --point chain"),
    (
        ("estimate", "clustering", "bic", "--data", "sim.npz", "--restarts", -3),
        "at least 1, got -3",
    ),
    (
        ("estimate", "binary-attributes", "bic", "--data", "y.csv", "--components", 20),
        "at most 14 components, got 20",
    ),
    (("sandwich", "clustering", "--gap", 0), "gap must be positive, got 0"),
    (("sandwich", "clustering", "--chains", 1), "at least 2"),
    (("sandwich", "clustering", "--path", "temperd"), "did you mean 'tempered'"),
    (("sandwich", "clustering", "--schedule", "linar"), "did you mean 'linear'"),
    (
        ("sandwich", "clustering", "--schedule", "adapted", "--pilot", 1),
        "at least 2 distributions, got 1",
    ),
    (
        ("sandwich", "clustering", "--schedule", "adapted", "--path", "prefix"),
        "take --path tempered",
    ),
    (("sandwich", "clustering", "--confidence", 1), "inside (0, 1), got 1"),
    (("sandwich", "clustering", "--max-seconds", -5), "positive, got -5"),
    (("sandwich", "clustering", "--resume"), "--resume needs --checkpoint"),
    (("sandwich", "clustering", "--checkpoint", "sim.npz"), "add --resume"),
    (
        ("sandwich", "clustering", "--checkpoint", "sim.npz", "--resume"),
        "not a bracketz checkpoint",
    ),
    (("sandwich", "clustering", "--plot", "sim.npz"), "must end in .png"),
    (("sandwich", "clustering", "--rows", "ten"), "ten"),
    (("sandwhich", "clustering"), "sandwhich"),
    (("sandwich", "clustering", "--chain", "3"), "--chain"),
    (("sandwich",), "MODEL"),
]


@pytest.mark.parametrize("words, sentence", BAD, ids=[" ".join(map(str, w)) for w, _ in BAD])
def test_bad_input_gets_one_sentence(bracketz, sim, tmp_path, words, sentence):
    files = {
        "y.csv": "1,2\n3,4\n",
        "nan.csv": "1,2\nnan,4\n",
        "inf.csv": "a,b\n1,inf\n",
        "ragged.csv": "1,2\n3\n",
        "words.csv": "1,2\n3,b\n",
        "empty.csv": "a,b\n",
        "huge.csv": "1,2\n-1e308,4\n",
        "fake.npz": "hello",
        "fake.npy": "hello",
        "data.xls": "1 2",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00\x81")
    np.save(tmp_path / "objects.npy", np.array([{"a": 1}]), allow_pickle=True)
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    with np.load(tmp_path / "sim.npz") as file:
        arrays = dict(file)
    np.savez(tmp_path / "narrow.npz", **(arrays | {"centers": arrays["centers"][:, :2]}))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    code, out, err = bracketz(*words)
    assert code == 2 and out == ""
    assert sentence in err and err.startswith("error: ") and len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


# compare


@pytest.fixture
def table(bracketz, tmp_path, short_pilots):
    """A .csv of observed data with a header."""
    y = np.random.default_rng(0).normal(size=(6, 2)) + 3 * (np.arange(6) % 2)[:, None]
    (tmp_path / "y.csv").write_text("a,b\n" + "\n".join(f"{u},{v}" for u, v in y))


QUICKLY = (
    *("--data", "y.csv", "--models", "clustering", "--chains", 16, "--first", 16),
    *("--max-effort", 16, "--twins", 0),
)


@pytest.mark.slow
def test_compare_prints_intervals_and_a_verdict(bracketz, table):
    code, out, _ = bracketz(
        "compare", *QUICKLY, "--components", "1,2", "--standardize", "--plot", "c.png", "--json"
    )
    answer = json.loads(out)
    assert code == (0 if answer["decided"] else 1)
    assert [c["components"] for c in answer["models"]] in ([1, 2], [2, 1])
    for model in answer["models"]:
        assert model["kind"] == ("certified" if model["high"] is None else "conditional")
    assert answer["log_jacobian"] != 0
    assert os.path.getsize("c.png") > 1000
    _, out, _ = bracketz("compare", *QUICKLY, "--components", "1,2")
    assert (
        "lower ends certified; estimates and upper ends conditional" in out
        and "Kass and Raftery" in out
    )


@pytest.mark.slow
def test_compare_has_twins_and_resumes_to_the_same_numbers(bracketz, table):
    words = ("compare", *QUICKLY, "--components", "2", "--twins", 1, "--json")
    _, first, _ = bracketz(*words, "--checkpoint", "c.npz")
    _, second, _ = bracketz(*words, "--checkpoint", "c.npz", "--resume")
    first, second = json.loads(first), json.loads(second)
    assert first["models"] == second["models"]
    assert first["models"][0]["twins"]["count"] == 1


@pytest.mark.slow
def test_compare_with_missing_entries(bracketz, table, tmp_path):
    lines = (tmp_path / "y.csv").read_text().splitlines()
    lines[2] = lines[2].split(",")[0] + ","
    (tmp_path / "y.csv").write_text("\n".join(lines))
    code, _, err = bracketz("compare", *QUICKLY, "--components", "2")
    assert code == 2 and "'b' of y.csv holds '' at row 2" in err and "--missing ignore" in err
    code, out, _ = bracketz(
        "compare", *QUICKLY, "--components", "2", "--missing", "ignore", "--json"
    )
    assert code == 0 and json.loads(out)["missing"] == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--components", "two"), "whole numbers with commas between, got 'two'"),
        (("--components", "0"), "components must be a whole number of at least 1, got 0"),
        (
            ("--set", "noise_shap=2"),
            "unknown hyperparameter's prior 'noise_shap'; did you mean 'noise_shape'?",
        ),
        (("--set", "noise_shape=-2"), "noise_shape must be a positive number, got -2.0"),
        (("--missing", "drop"), "unknown --missing 'drop'"),
        (("--twins", "-1"), "twins must be at least 0, got -1"),
        (("--models", "clusterin"), "unknown model 'clusterin'"),
    ],
)
def test_compare_refuses_in_one_sentence(bracketz, table, words, sentence):
    code, out, err = bracketz("compare", "--data", "y.csv", *words)
    assert code == 2 and out == "" and sentence in err.replace("\n", " ")


def test_the_commands_have_the_defaults_of_the_library():
    """They stand twice, because the command line must not import JAX to print its help."""
    import bracketz
    from bracketz.cli.app import compare, evidence, sandwich
    from bracketz.inference.compare import compare as library_compare

    def defaults(function):
        return {name: p.default for name, p in inspect.signature(function).parameters.items()}

    pairs = (
        (sandwich, bracketz.sandwich),
        (compare, library_compare),
        (evidence, bracketz.evidence),
    )
    for command, function in pairs:
        here, there = defaults(command), defaults(function)
        shared = (here.keys() & there.keys()) - {"model", "data", "models", "path"}
        shared -= {"twins"}  # whoever types a command gets them, whoever calls a function asks
        assert len(shared) >= 5
        assert {name: here[name] for name in shared} == {name: there[name] for name in shared}


def test_broken_arithmetic_is_one_sentence_and_exit_code_1(bracketz, sim, monkeypatch):
    def broken(*args, **kwargs):
        raise NumericalError("the log evidence came out as nan; raise `max_effort`")

    monkeypatch.setattr("bracketz.estimators.base.estimate", broken)
    answer = bracketz("estimate", "clustering", "ais", "--data", "sim.npz", "--json")
    assert answer == (1, "", "error: the log evidence came out as nan; raise --max-effort\n")
