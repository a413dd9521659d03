"""Tables on the command line: columns by name, words, what is missing, and one sentence for what is
refused, whose way out is then taken."""

import json
import re
import shlex

import numpy as np
import pytest

MODELS = """
import jax
import numpyro
import numpyro.distributions as dist
import bracketz as bz


def regression(X, y=None):
    w = numpyro.sample("w", dist.Normal(0, 1).expand([X.shape[1]]).to_event(1))
    with numpyro.plate("rows", len(X)):
        numpyro.sample("y", dist.Normal(X @ w, 1), obs=y)


def grouped(group, x, y=None):
    a = numpyro.sample("a", dist.Normal(0, 1).expand([2]).to_event(1))
    with numpyro.plate("rows", len(x)):
        numpyro.sample("y", dist.Normal(a[group] + x, 1), obs=y)


@bz.pytree_dataclass
class Mean(bz.Factored):
    def log_prior(self, x):
        return jax.scipy.stats.norm.logpdf(x)

    def log_likelihood(self, x, y):
        return jax.scipy.stats.norm.logpdf(y, x, 1.0)

    def sample_prior(self, key, shape=None):
        return jax.random.normal(key)

    def simulate(self, key, x, shape=None):
        return x + jax.random.normal(key, (4,))
"""
#: As a spreadsheet in Europe saves it, and as pandas does.
FILES = {
    "models.py": MODELS,
    "my.csv": 'id;y;x;z;group\n1;0,5;1,5;TRUE;"a"\n2;1,5;-1;FALSE;"b"\n3;0,1;0,2;TRUE;"a"\n'
    '4;0;0,7;FALSE;"b"\n',
    "my.tsv": "y\tx\n0.5\t1.5\n1.5\t-1\n0.1\t0.2\n0\t0.7\n",
    "pandas.csv": ",a,b\n0,1.5,2\n1,3.25,0.5\n2,2,1\n3,-1,4\n",
    "iris.csv": "a,b,species\n1.5,2,setosa\n3.25,0.5,virginica\n2,1,setosa\n-1,4,setosa\n",
    "na.csv": "a,b\n1.5,2\n3.25,NA\n2,1\n-1,4\n",
    "nay.csv": "x,y\n1.5,2\n3.25,\n2,1\n-1,4\n",
    "names.csv": "y,x,name\n1,2.5,ann\n2,0.5,bob\n",
}
X, Z = np.array([1.5, -1, 0.2, 0.7]), np.array([1.0, 0, 1, 0])
A = np.array([1.0, 0, 1, 0])


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    np.save(tmp_path / "y.npy", np.array([[1.5, np.nan], [2.0, 1.0], [0.1, 0.3]]))
    return tmp_path


class Handed(Exception):
    """What the command line gave the library, instead of an answer."""


@pytest.fixture
def handed(bracketz, folder, monkeypatch):
    """Run a command up to where the library takes over: (model, data)."""

    def stop(model, data, *_, **__):
        raise Handed(model, data)

    monkeypatch.setattr("bracketz.estimators.base.estimate", stop)
    monkeypatch.setattr("bracketz.inference.sandwich", stop)
    monkeypatch.setattr("bracketz.inference.evidence.evidence", stop)

    def run(*words):
        with pytest.raises(Handed) as stopped:
            bracketz(*words, "--json")
        return stopped.value.args

    return run


@pytest.fixture
def refused(bracketz, folder):
    """The one sentence of a command that is refused."""

    def run(*words):
        before = {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
        code, out, err = bracketz(*words)
        assert code == 2 and out == "" and err.startswith("error: ") and "Traceback" not in err
        assert len(err.strip().splitlines()) == 1
        assert before == {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}
        return err

    return run


def advice(sentence, option):
    """What a sentence says to write after an option, as a shell would read it."""
    return shlex.split(re.search(rf"--{option} .*", sentence)[0].replace(",\n", "\n"))[1].rstrip(
        ",;:"
    )


AIS = ("ais", "--trials", 2, "--distributions", 8)


def estimate(model, file, *words):
    return ("estimate", model, *AIS, "--data", file, *words)


# Shipped models: a matrix.


@pytest.mark.parametrize(
    "start", [("estimate", "clustering", "ais"), ("evidence", "clustering")], ids=lambda s: s[0]
)
def test_columns_of_a_matrix_by_name(handed, start):
    for words, y in (
        (("pandas.csv", "--drop", "unnamed"), [[1.5, 2], [3.25, 0.5], [2, 1], [-1, 4]]),
        (("pandas.csv", "--covariates", "b"), [[2], [0.5], [1], [4]]),
        (("pandas.csv", "--observe", "b,a"), [[2, 1.5], [0.5, 3.25], [1, 2], [4, -1]]),
        (("pandas.csv", "--response", "b"), [[2], [0.5], [1], [4]]),
        (("my.csv", "--drop", "id,y,group"), np.column_stack([X, Z])),
        (("my.tsv", "--covariates", "x"), X[:, None]),
    ):
        _, data = handed(*start, "--data", *words)
        np.testing.assert_array_equal(data.y, y)


@pytest.mark.parametrize(
    ("file", "name"), [("pandas.csv", "unnamed"), ("my.csv", "id")], ids=["unnamed", "id"]
)
def test_an_index_is_never_silently_data(refused, handed, file, name):
    said = refused(*estimate("clustering", file))
    assert f"column '{name}' of {file} looks like an index" in said
    assert advice(said, "drop") == name
    kept = advice(said, "covariates")
    if file == "pandas.csv":
        assert handed(*estimate("clustering", file, "--drop", name))[1].y.shape == (4, 2)
        assert handed(*estimate("clustering", file, "--covariates", kept))[1].y.shape == (4, 3)
    said = refused("evidence", "clustering", "--data", file)
    assert "looks like an index" in said


def test_words_in_a_matrix(refused, handed):
    said = refused(*estimate("clustering", "iris.csv"))
    assert "column 'species' of iris.csv holds 'setosa' at row 1, which is not a number" in said
    _, data = handed(*estimate("clustering", "iris.csv", "--drop", advice(said, "drop")))
    assert data.y.shape == (4, 2)


# The user's own models: arguments and covariates.


def test_covariates_of_a_function(handed):
    for words, wanted in (
        (("--drop", "id,group"), [X, Z]),
        (("--covariates", "z,x"), [Z, X]),
        (("--covariates", "x"), [X]),
        (("--covariates", "x,group"), [X, A, 1 - A]),
        (("--covariates", "id,x", "--response", "y"), [np.arange(1, 5), X]),
    ):
        for command in (estimate("models.py:regression", "my.csv"), ("evidence",)):
            if command == ("evidence",):
                command += ("models.py:regression", "--data", "my.csv")
            model, data = handed(*command, *words)
            np.testing.assert_array_equal(data.y, [0.5, 1.5, 0.1, 0])
            np.testing.assert_array_equal(covariates(model), np.column_stack(wanted))


def test_a_response_by_another_name(handed, folder):
    """It is the argument `y`; a column that is an argument by name stays that one."""
    text = FILES["my.tsv"].replace("y", "weight", 1)
    (folder / "my.tsv").write_text(text)
    words = estimate("models.py:regression", "my.tsv")
    model, data = handed(*words, "--observe", "weight")
    np.testing.assert_array_equal(data.y, [0.5, 1.5, 0.1, 0])
    np.testing.assert_array_equal(covariates(model), X[:, None])


@pytest.mark.parametrize(
    "words",
    [
        ("sandwich", "--chains", 4, "--first", 8, "--max-effort", 8, "--no-reference"),
        ("simulate", "--out", "sim.npz"),
        ("check", "--only", "densities.nothing"),
    ],
    ids=lambda words: words[0],
)
def test_covariates_where_data_are_simulated(bracketz, folder, words):
    command, *others = words
    table = ("--data", "my.csv", "--covariates", "x,group")
    _, _, err = bracketz(command, "models.py:regression", *table, *others)
    assert "X = columns x, group=a, group=b; y not used, since data are simulated" in err


def covariates(model):
    """The matrix a model was made with."""
    import jax

    return next(a for a in jax.tree.leaves(model) if np.ndim(a) == 2)


def test_words_of_a_function(refused, handed):
    said = refused(*estimate("models.py:regression", "my.csv", "--drop", "id"))
    assert "column 'group' of my.csv holds 'a' at row 1, which is not a number" in said
    for option in ("drop", "covariates"):
        words = ("--drop", f"id,{advice(said, 'drop')}")
        if option == "covariates":
            words = ("--drop", "id", "--covariates", advice(said, option))
        handed(*estimate("models.py:regression", "my.csv", *words))
    said = refused(*estimate("models.py:grouped", "my.csv"))
    assert "each word by a number from 0" in said
    handed(*estimate("models.py:grouped", "my.csv", "--covariates", advice(said, "covariates")))


def test_words_are_told_how_they_are_coded(bracketz, folder):
    _, _, err = bracketz(*estimate("models.py:grouped", "my.csv", "--covariates", "group"))
    assert "group coded: 0 a, 1 b" in err and "not used: id, z" in err


def test_an_index_no_argument_takes_is_not_asked_about(handed):
    handed(*estimate("models.py:grouped", "my.csv", "--covariates", "group"))


def test_an_index_among_the_covariates(refused, handed):
    said = refused(*estimate("models.py:regression", "my.csv"))
    assert "column 'id' of my.csv looks like an index (by its name)" in said
    assert advice(said, "drop") == "id" and advice(said, "covariates") == "id,x,z,group"
    handed(*estimate("models.py:regression", "my.csv", "--covariates", "id,x,z,group"))


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("my.csv", "--drop", "nothing"), "unknown column of my.csv 'nothing'"),
        (("my.csv", "--covariates", "x,zz"), "unknown column of my.csv 'zz'"),
        (("my.csv", "--covariates", "x,y"), "is what models.py:regression observes"),
        (("my.csv", "--covariates", "x", "--drop", "x"), "'x' of my.csv was left out by --drop x"),
        (("my.csv", "--drop", "y", "--observe", "y"), "'y' of my.csv was left out by --drop y"),
        (("my.csv", "--drop", "id,x,y,z,group"), "--drop leaves no column of my.csv"),
        (("my.csv", "--decimal", "x"), "--decimal must be '.' or ',', got 'x'"),
        (("names.csv", "--covariates", "x,name"), "a different word in each of 2 rows"),
        (("nay.csv",), "column 'y' of nay.csv holds '' at row 2, which is missing: fill it in or"),
        (("y.npy", "--drop", "x"), "--drop is about the columns of a table, and got y.npy"),
    ],
)
def test_columns_that_cannot_be(refused, words, sentence):
    assert sentence in refused(*estimate("models.py:regression", *words))


def test_options_without_a_table(refused):
    for option in ("--drop", "--covariates", "--decimal"):
        said = refused("sandwich", "clustering", option, "a")
        assert f"{option} is about the columns of a table, and no --data FILE.csv is given" in said
    said = refused(*estimate("clustering", "pandas.csv", "--observe", "a", "--covariates", "b"))
    assert "name them all by --covariates" in said
    said = refused(*estimate("models.py:Mean", "my.tsv", "--observe", "y", "--covariates", "x"))
    assert "takes no covariates from a table" in said
    assert "no argument of models.py:grouped takes column 'z'" in refused(
        *estimate("models.py:grouped", "my.csv", "--covariates", "group,z")
    )
    assert "unknown --missing 'drop'" in refused(
        *estimate("clustering", "na.csv", "--missing", "drop")
    )


# What is missing.


def test_the_advice_on_missing_entries_works(bracketz, refused):
    """Each way out of the sentence, taken."""
    start = estimate("clustering", "na.csv", "--components", 2)
    said = refused(*start)
    assert "column 'b' of na.csv holds 'NA' at row 2, which is missing" in said
    words = ("--missing", advice(said, "missing"))
    code, out, err = bracketz(*start, *words, "--json")
    assert code == 0 and err == "" and json.loads(out)["model"] == "clustering"
    _, out, err = bracketz(*start, *words)
    assert "1 missing entry is left out, exactly" in err and "ais on clustering" in out
    code, _, _ = bracketz(*start, "--drop", advice(said, "drop"), "--json")
    assert code == 0


def test_missing_entries_of_an_array(bracketz, refused):
    start = estimate("clustering", "y.npy", "--components", 2)
    said = refused(*start)
    assert "y.npy holds nan at row 1, column 2" in said
    assert bracketz(*start, "--missing", advice(said, "missing"), "--json")[0] == 0


def test_a_missing_entry_is_left_out_exactly(bracketz, folder):
    """A row of which nothing is observed is no row: one component, one column."""
    (folder / "less.csv").write_text("a\n1.5\n2\n-1\n")
    (folder / "more.csv").write_text("a\n1.5\nNA\n2\n-1\n")
    values = []
    for file in ("less.csv", "more.csv"):
        words = estimate("clustering", file, "--components", 1, "--missing", "ignore", "--json")
        values.append(json.loads(bracketz(*words)[1])["log_ml"])
    assert values[0] == pytest.approx(values[1], abs=1e-9)


def test_an_estimator_that_cannot_leave_entries_out_says_which_can(bracketz, refused):
    start = ("estimate", "clustering", "vb", "--data", "na.csv", "--components", 2)
    said = refused(*start)
    assert "take ais, which leaves it out exactly with --missing ignore" in said
    said = refused(*start, "--missing", "ignore")
    assert "na.csv has missing entries, which this estimator cannot leave out" in said


def test_missing_entries_of_your_own_model(refused, bracketz):
    said = refused(*estimate("models.py:Mean", "nay.csv", "--observe", "y"))
    assert "holds '' at row 2, which is missing: fill it in or remove the row" in said
    assert "--missing" not in said
    assert "exact posterior sample" in refused("sandwich", "clustering", "--data", "na.csv")


def test_evidence_leaves_entries_out(bracketz, folder):
    words = ("evidence", "clustering", "--components", 2, "--data", "na.csv", "--twins", 1)
    words += ("--starts", 4, "--chains", 8, "--first", 16, "--max-effort", 16)
    _, out, _ = bracketz(*words, "--missing", "ignore", "--json")
    answer = json.loads(out)
    assert answer["model"] == "clustering" and answer["twins"]["count"] == 1


def test_the_matrix_for_whoever_compares(folder, monkeypatch):
    """One reading path: columns by name, NaN where it may be."""
    from pathlib import Path

    from bracketz.cli import problem
    from bracketz.errors import InputError

    monkeypatch.chdir(folder)
    asked = problem.Asked("clustering", Path("na.csv"), missing="ignore")
    assert np.isnan(problem.matrix(asked).y[1, 1])
    with pytest.raises(InputError, match="`missing=True`"):
        problem.matrix(problem.Asked("clustering", Path("na.csv")))
    asked = problem.Asked("clustering", Path("pandas.csv"), drop="unnamed")
    assert problem.matrix(asked).y.shape == (4, 2)
