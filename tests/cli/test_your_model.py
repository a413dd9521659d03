"""A user's own models on the command line, from a folder of their own: files, names, tables, and
one sentence for everything that is wrong with them."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

MODELS = """
import functools
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
import bracketz as bz


def mean(n, y=None):
    m = numpyro.sample("m", dist.Normal(0, 1))
    with numpyro.plate("rows", n):
        numpyro.sample("y", dist.Normal(m, 1), obs=y)


def regression(X, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(X)):
        numpyro.sample("y", dist.Normal(X @ w, 1), obs=y)


def renamed(a, b, values=None):
    m = numpyro.sample("m", dist.Normal(0, 1))
    with numpyro.plate("rows", len(a)):
        numpyro.sample("y", dist.Normal(m * a + b, 1), obs=values)


def two(n, y=None, z=None):
    m = numpyro.sample("m", dist.Normal(0, 1))
    with numpyro.plate("rows", n):
        numpyro.sample("y", dist.Normal(m, 1), obs=y)
        numpyro.sample("z", dist.Poisson(2.0 + 0 * m), obs=z)


def sized(X, N, y=None):
    return regression(X, y)


def broken(X, y=None):
    return 1 / 0


@bz.pytree_dataclass
class Mean(bz.Factored):
    scale: float = 1.0

    def log_prior(self, x):
        return jax.scipy.stats.norm.logpdf(x)

    def log_likelihood(self, x, y):
        return jax.scipy.stats.norm.logpdf(y, x, self.scale)

    def sample_prior(self, key, shape=None):
        return jax.random.normal(key)

    def simulate(self, key, x, shape=None):
        return x + self.scale * jax.random.normal(key, (4,))


class NoSimulator(Mean):
    def simulate(self, key, x, shape=None):
        return bz.Factored.simulate(self, key, x, shape)


four = bz.from_numpyro(mean, 4)
seen = bz.from_numpyro(mean, 4, np.array([1.0, 2.0, 0.5, 0.0]))
both = bz.from_numpyro(two, 4)
plain = Mean()
silent = bz.pytree_dataclass(NoSimulator)()
shipped = bz.Clustering(components=2)
number = 3


def make(n=4):
    return bz.from_numpyro(mean, n)


MODELS = {"linear": lambda: four, "eight schools, centred": four}
"""

TABLE = "a,b,y\n" + "".join(
    f"{a},{b},{a - b + 0.1 * k}\n"
    for k, (a, b) in enumerate([(0.5, 1.0), (1.5, -1.0), (2.0, 0.5), (-1.0, 0.25)])
)
#: Little of everything.
LITTLE = ("--chains", 4, "--first", 8, "--max-effort", 8, "--no-reference")


@pytest.fixture
def folder(tmp_path):
    """models.py and my.csv, as a new user has them."""
    (tmp_path / "models.py").write_text(MODELS)
    (tmp_path / "my.csv").write_text(TABLE)
    return tmp_path


class Handed(Exception):
    """What the command line gave the library, instead of an answer."""


@pytest.fixture
def handed(bracketz, folder, monkeypatch):
    """Run a command up to where the library takes over: (model, data, the other arguments)."""

    def stop(model, data, *others, **options):
        raise Handed(model, data, options)

    monkeypatch.setattr("bracketz.estimators.base.estimate", stop)
    monkeypatch.setattr("bracketz.inference.sandwich", stop)

    def run(*words):
        with pytest.raises(Handed) as stopped:
            bracketz(*words, "--json")
        return stopped.value.args

    return run


# The names.


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("models.py:four", 4),
        ("models:four", 4),
        ("models.py:make", 4),
        ("models.py:MODELS.linear", 4),
        ("models.py:MODELS.eight schools, centred", 4),
        ("models.py:Mean", 4),
        ("models.py:plain", 4),
        ("models.py:shipped", 50),
    ],
)
def test_a_name_may_be_anything_that_makes_a_model(bracketz, folder, name, rows):
    code, out, err = bracketz("simulate", name, "--out", "sim.npz")
    assert code == 0 and err == "" and f"sim.npz: {rows} rows" in out


def test_arguments_come_from_set(bracketz, folder):
    for name in ("mean", "make"):
        code, out, _ = bracketz(
            "simulate", f"models.py:{name}", "--set", "n=6", "--out", f"{name}.npz"
        )
        assert code == 0 and "6 rows" in out
    code, out, _ = bracketz("simulate", "models.py:Mean", "--set", "scale=3", "--out", "m.npz")
    with np.load(folder / "m.npz") as file:
        assert json.loads(str(file["meta"]))["hyperparameters"]["scale"] == 3


# The four commands, on a regression with a table.


def test_sandwich_of_a_regression(bracketz, folder):
    words = ("sandwich", "models.py:regression", "--data", "my.csv", *LITTLE)
    code, out, err = bracketz(*words, "--plot", "p.png")
    assert code in (0, 1) and "log evidence, regression" in out
    assert "X = columns a, b; y not used, since data are simulated" in err
    assert "begins at" in out and "it was asked for" in out and "hmc" in out and "acceptance" in out
    assert (folder / "p.png").stat().st_size > 1000


def test_estimate_of_a_regression(bracketz, folder):
    words = ("estimate", "models.py:regression", "ais", "--data", "my.csv", "--observe", "y")
    code, out, err = bracketz(*words, "--trials", 3, "--distributions", 8, "--json")
    answer = json.loads(out)
    # w ~ N(0, 1) and unit noise: y ~ N(0, I + X X').
    table = np.loadtxt(folder / "my.csv", delimiter=",", skiprows=1)
    x, y = table[:, :2], table[:, 2]
    cov = np.eye(4) + x @ x.T
    exact = -0.5 * (y @ np.linalg.solve(cov, y) + np.linalg.slogdet(2 * np.pi * cov)[1])
    assert code == 0 and err == "" and answer["side"] == "lower"
    assert answer["log_ml"] == pytest.approx(exact, abs=0.5)
    assert answer["knobs"]["schedule"] == "adapted"
    assert answer["details"]["preparation"]["kernel"] == "hmc"


def test_simulate_and_go_on_from_the_file(bracketz, handed, folder):
    words = ("simulate", "models.py:regression", "--data", "my.csv", "--out", "sim.npz")
    code, _, err = bracketz(*words)
    assert code == 0 and "X = columns a, b" in err
    model, data, _ = handed("estimate", "models.py:regression", "reverse-ais", "--data", "sim.npz")
    assert data.simulated and data.y.shape == (4,) and model.label == "regression"
    other = MODELS.replace("dist.Normal(X @ w, 1)", "dist.Normal(X @ w, 2)")
    (folder / "models.py").write_text(other)
    code, _, err = bracketz("sandwich", "models.py:regression", "--data", "sim.npz")
    assert code == 2 and "sim.npz was simulated with source" in err


@pytest.mark.skipif(
    importlib.util.find_spec("bracketz.check.factored") is None,
    reason="the kit does not know models of a prior and a likelihood here",
)
@pytest.mark.slow
def test_check_of_a_regression(bracketz, folder):
    words = ("check", "models.py:regression", "--data", "my.csv", "--level", "quick", "--json")
    code, out, _ = bracketz(*words)
    assert code == 0 and json.loads(out)["model"] == "regression"


# Data.


def test_the_observed_column_is_the_data(handed, bracketz, folder):
    table = np.loadtxt(folder / "my.csv", delimiter=",", skiprows=1)
    for words in (("regression", "--observe", "y"), ("regression",), ("renamed", "--observe", "y")):
        name, *others = words
        _, data, _ = handed("estimate", f"models.py:{name}", "ais", "--data", "my.csv", *others)
        np.testing.assert_array_equal(data.y, table[:, 2])
        assert not data.simulated
    code, _, err = bracketz("estimate", "models.py:four", "ais", "--data", "long.npy")
    assert code == 2 and err == "error: no file long.npy\n"


def test_a_sandwich_simulates_its_data(handed, folder):
    table = np.loadtxt(folder / "my.csv", delimiter=",", skiprows=1)
    for name, *others in (["regression"], ["renamed", "--observe", "y"]):
        _, data, options = handed("sandwich", f"models.py:{name}", "--data", "my.csv", *others)
        assert data.simulated and not np.array_equal(data.y, table[:, 2])
        assert options["path"] is None and options["reference"] is None
    for words, kept in ((("--reference",), True), (("--no-reference",), False)):
        assert handed("sandwich", "models.py:four", *words)[2]["reference"] is kept
    _, _, options = handed("sandwich", "models.py:four", "--schedule", "sigmoid")
    assert options["path"].schedule_name == "sigmoid"
    _, _, options = handed("sandwich", "models.py:four", "--path", "prefix")
    assert options["path"].name == "prefix"


def test_models_bring_their_own_data(handed, folder):
    y = np.array([1.0, 2.0, 0.5, 0.0])
    np.save(folder / "y.npy", y)
    (folder / "y.csv").write_text("u,v\n" + "".join(f"{k},{v}\n" for k, v in enumerate(y)))
    for words in (
        ("models.py:seen", "ais"),
        ("models.py:four", "ais", "--data", "y.npy"),
        ("models.py:four", "ais", "--data", "y.csv", "--observe", "v"),
        ("models.py:silent", "ais", "--data", "y.csv", "--observe", "v"),
    ):
        np.testing.assert_array_equal(handed("estimate", *words)[1].y, y)


def test_several_observed_columns_are_data_by_name(handed, folder):
    rows = "".join(f"{k},{k / 2},{k % 3}\n" for k in range(4))
    (folder / "both.csv").write_text("x,y,z\n" + rows)
    for name in ("both", "two"):
        words = ("estimate", f"models.py:{name}", "ais", "--data", "both.csv", "--observe", "y,z")
        words += ("--set", "n=4") if name == "two" else ()
        _, data, _ = handed(*words)
        assert set(data.y) == {"y", "z"}
        np.testing.assert_array_equal(data.y["z"], [0, 1, 2, 0])
    _, data, _ = handed("estimate", "models.py:both", "ais", "--data", "both.csv")
    assert set(data.y) == {"y", "z"}


# Other languages.


def test_a_pymc_model(handed, folder):
    pytest.importorskip("pymc")
    (folder / "heights.py").write_text(
        "import numpy as np, pymc as pm\n"
        "with pm.Model() as heights:\n"
        "    mean = pm.Normal('mean', 0, 1)\n"
        "    pm.Normal('height', mean, 1, observed=np.array([1.0, 2.0, 0.5, 0.0]))\n"
        "def made():\n"
        "    return heights\n"
    )
    for name in ("heights", "made"):
        model, data, _ = handed("estimate", f"heights.py:{name}", "ais")
        np.testing.assert_array_equal(data.y, [1.0, 2.0, 0.5, 0.0])
        assert type(model).__name__ == "PyMCModel"


@pytest.mark.slow
def test_a_stan_program(handed, folder):
    pytest.importorskip("httpstan")
    source = Path(__file__).parents[2] / "examples" / "your_model" / "eight_schools.stan"
    (folder / "schools.stan").write_text(source.read_text())
    y = [28, 8, -3, 7, -1, 1, 18, 12]
    given = {"J": 8, "y": y, "sigma": [15, 10, 16, 11, 9, 11, 10, 18]}
    (folder / "schools.json").write_text(json.dumps(given))
    words = ("schools.stan", "--stan-data", "schools.json")
    _, data, _ = handed("estimate", words[0], "ais", *words[1:])
    np.testing.assert_array_equal(data.y, y)
    _, data, _ = handed("sandwich", *words)
    assert data.simulated and data.y.shape == (8,)


# Checkpoints.


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_numbers(bracketz, folder):
    words = ["sandwich", "models.py:both", "--chains", "4", "--no-reference", "--json"]
    words += ["--first", "60000", "--max-effort", "60000"]
    source = Path(importlib.util.find_spec("bracketz").origin).parents[1]
    settings = {"BRACKETZ_CHECKPOINT_SECONDS": "0", "PYTHONPATH": str(source)}
    run = subprocess.Popen(
        [sys.executable, "-m", "bracketz", *words, "--checkpoint", "run.npz"],
        env=os.environ | settings,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while run.poll() is None and not (folder / "run.npz").exists():
        time.sleep(0.02)
    killed = run.poll() is None
    run.kill()
    run.wait()
    assert killed and (folder / "run.npz").exists()
    code, out, err = bracketz(*words, "--checkpoint", "run.npz", "--resume")
    assert code in (0, 1), err
    whole = json.loads(bracketz(*words)[1])
    same = ("lower", "upper", "log_ml", "distributions", "certificate")
    assert [json.loads(out)[k] for k in same] == [whole[k] for k in same]


# One sentence for bad input.

ESTIMATE = ("estimate", "models.py:regression", "ais")
BAD = [
    (("sandwich", "nowhere.py:four"), "no file nowhere.py"),
    (("sandwich", "models.py"), "name the model in it: models.py:mean, models.py:regression"),
    (("sandwich", "models.py:fuor"), "unknown name in models.py 'fuor'; did you mean 'four'?"),
    (("sandwich", "models.py:MODELS.liner"), "did you mean 'linear'?"),
    (("sandwich", "models.py:number"), "'number' in models.py is a int, not a bracketz.Model"),
    (("sandwich", "models.py:mean"), "models.py:mean needs n"),
    (("sandwich", "models.py:mean", "--set", "m=3"), "unknown argument of models.py:mean 'm'"),
    (("sandwich", "models.py:sized", "--data", "my.csv"), "give it by --set N=VALUE"),
    (("sandwich", "models.py:silent"), "has no simulator"),
    (("sandwich", "models.py:four", "--rows", 9), "leave out --rows and --columns"),
    (("simulate", "models.py:four", "--columns", 9, "--out", "s.npz"), "knows the size"),
    (("check", "models.py:four", "--rows", 9), "knows the size of its data"),
    (("sandwich", "models.py:four", "--components", 9), "a model made in its file"),
    (("sandwich", "models.py:four", "--set", "n=9"), "a model made in its file"),
    (("sandwich", "models.py:four", "--data", "my.csv", "--observe", "y"), "exact posterior"),
    (("simulate", "models.py:four", "--data", "my.csv", "--out", "s.npz"), "leave it out"),
    (("sandwich", "clustering", "--reference"), "a prior and a likelihood, and for inferred"),
    (("sandwich", "clustering", "--stan-data", "my.csv"), "--stan-data is for Stan programs"),
    (("sandwich", "raises.py:model"), "raises.py, line 2: ZeroDivisionError: division by zero"),
    (("sandwich", "wrong.py:model"), "wrong.py, line 1: SyntaxError"),
    (("sandwich", "needs.py:model"), "needs.py, line 1: it needs no_such_package"),
    (("sandwich", "refused.py:model"), "refused.py, line 4: mean needs `n`"),
    (("sandwich", "models.py:broken", "--data", "my.csv"), "ZeroDivisionError"),
    ((*ESTIMATE, "--data", "none.csv"), "no file none.csv"),
    ((*ESTIMATE, "--data", "my.csv", "--observe", "yy"), "unknown column of my.csv 'yy'; did"),
    ((*ESTIMATE, "--data", "bare.csv", "--observe", "y"), "bare.csv has no header line"),
    ((*ESTIMATE, "--data", "words.csv"), "column 'b' of words.csv holds 'red' at row 2"),
    ((*ESTIMATE, "--data", "noy.csv"), "name it by --observe COLUMN"),
    (("estimate", "models.py:four", "ais"), "models.py:four has no data of its own: give --data"),
    (("estimate", "clustering", "ais"), "clustering has no data of its own: give --data FILE"),
    (("estimate", "models.py:four", "ais", "--data", "long.csv"), "must have shape (4,), got (5"),
    (
        ("estimate", "models.py:four", "ais", "--data", "my.csv", "--observe", "a,b"),
        "must have shape (4,), got (4, 2)",
    ),
    (
        ("estimate", "models.py:both", "ais", "--data", "my.csv", "--observe", "a,b"),
        "has observations ['y', 'z'], and the data are ['a', 'b']",
    ),
    (("sandwich", "mean.stan"), "mean.stan needs the data it declares: give --stan-data FILE.json"),
    (("sandwich", "none.stan", "--stan-data", "mean.json"), "no Stan program at none.stan"),
]


@pytest.mark.parametrize("words, sentence", BAD, ids=[" ".join(map(str, w)) for w, _ in BAD])
def test_bad_input_gets_one_sentence(bracketz, folder, words, sentence):
    files = {
        "raises.py": "x = 1\nmodel = x / 0\n",
        "wrong.py": "def (\n",
        "needs.py": "import no_such_package\n",
        "refused.py": "import bracketz as bz\ndef mean(n, y=None):\n    pass\n"
        "model = bz.from_numpyro(mean)\n",
        "bare.csv": "1,2,3\n4,5,6\n",
        "words.csv": "a,b,y\n1,2,3\n4,red,6\n",
        "noy.csv": "a,b\n1,2\n3,4\n",
        "long.csv": "y\n1\n2\n3\n4\n5\n",
        "mean.stan": "",
        "mean.json": "{}",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    code, out, err = bracketz(*words)
    assert code == 2 and out == ""
    assert sentence in err and err.startswith("error: ") and len(err.strip().splitlines()) == 1
    assert "Traceback" not in err and "--X" not in err


@pytest.mark.parametrize("package", ["numpyro", "pymc"])
def test_a_language_that_is_not_installed(bracketz, tmp_path, monkeypatch, package):
    (tmp_path / "models.py").write_text(f"import {package}\n")
    monkeypatch.setitem(sys.modules, package, None)
    code, _, err = bracketz("sandwich", "models.py:model")
    assert code == 2
    wanted = f'pip install "bracketz[{package}]"'
    assert f"models.py, line 1: it needs {package}" in err and wanted in err


def test_lists_and_help_mention_your_own(bracketz):
    assert "models.py:name" in bracketz("models")[1]
    for command in ("sandwich", "estimate", "check", "simulate"):
        assert "models.py:name" in " ".join(bracketz(command, "--help")[1].split())
