"""Specs: what is read, what is refused and how, and that no malformed one ends in a traceback."""

import random
import re
from pathlib import Path

import pytest
from small_experiment import SMALL

from bracketz.errors import InputError
from bracketz.papers import PAPERS, spec_file
from bracketz.testbed.spec import tasks
from bracketz.testbed.spec.experiment import parse, read
from bracketz.testbed.spec.tasks import Task, expand


def test_the_papers_spec_is_the_papers_experiment():
    spec = read(spec_file("grosse2015", "full"))
    assert spec.trials == 25 and spec.agree_within == 1.0
    sizes = {p.label: (p.rows, p.columns, p.hyperparameters["components"]) for p in spec.problems}
    assert sizes == {
        "clustering": (50, 25, 10),
        "low-rank": (50, 25, 5),
        "binary-attributes": (50, 25, 10),
    }
    from bracketz.estimators.registry import ESTIMATORS

    assert {c.estimator for c in spec.curves} == set(ESTIMATORS)
    assert all(set(c.problems) == set(sizes) for c in spec.curves)


def test_every_shipped_spec_is_valid_and_compiles_each_program_once():
    shipped = [file for paper in PAPERS for file in spec_file(paper, "quick").parent.glob("*.toml")]
    assert {f"{preset}.toml" for paper in PAPERS.values() for preset in paper.presets} <= {
        f.name for f in shipped
    }
    for file in shipped:
        met: list = []
        for entry in expand(read(file)):
            if not met or met[-1] != (entry.problem, entry.task.program):
                met.append((entry.problem, entry.task.program))
        assert len(met) == len(set(met))  # tasks that share a program are neighbours
        # What a reader of the repository sees is what is installed.
        assert (
            Path(__file__).parents[2] / "papers" / file.parent.name / file.name
        ).read_text() == file.read_text()


def test_the_spec_in_the_documentation_is_valid():
    page = (Path(__file__).parents[2] / "docs" / "testbed.md").read_text()
    (example,) = re.findall(r"```toml\n(.*?)```", page, flags=re.S)
    assert len(expand(parse(example))) == 18


def test_tasks_are_identified_by_what_determines_them():
    entries = expand(parse(SMALL))
    ids = {e.task.id for e in entries}
    # The truth is the top rung of AIS: one task, two purposes.
    assert len(entries) == len(ids) + 2 * 3
    assert all(Task.from_json(e.task.to_json()).id == e.task.id for e in entries)
    longer = expand(parse(SMALL.replace("[10, 30, 300]", "[10, 30, 100, 300]")))
    assert ids < {e.task.id for e in longer}
    for old, new in [
        ("seed = 3", "seed = 4"),
        ("trials = 4", "trials = 5"),
        ("rows = 6", "rows = 7"),
    ]:
        assert not ids & {
            e.task.id for e in expand(parse(SMALL.replace(old, new))) if e.role == "curve"
        }
    renamed = expand(parse(SMALL.replace('name = "small"', 'name = "other"')))
    assert ids == {e.task.id for e in renamed}
    assert len({e.task.seed for e in entries}) == len(ids)


def test_another_version_runs_tasks_again_with_the_same_randomness(monkeypatch):
    before = [e.task for e in expand(parse(SMALL))]
    ids = {task.id for task in before}
    monkeypatch.setattr(tasks, "__version__", "9.9")
    after = [e.task for e in expand(parse(SMALL))]
    assert after == before  # seeds included
    assert not ids & {task.id for task in after}


@pytest.mark.parametrize(
    "old, new, names",
    [
        ("trials = 4", "trials = 1", "trials must be from 2"),
        ("trials = 4", "trails = 4", "unknown key 'trails'; did you mean 'trials'?"),
        ("trials = 4", "trials = 'four'", "trials must be a whole number, got 'four'"),
        ("trials = 4", "trials = true", "trials must be a whole number, got True"),
        ("rows = 6", "rows = 0", "models[0].rows must be from 1"),
        (
            "noise_variance = 0.5",
            "noise_variance = -1.0",
            "noise_variance must be a positive number, got -1.0",
        ),
        (
            "noise_variance = 0.5",
            "noise_variance = nan",
            "models[1].hyperparameters.noise_variance must be a finite",
        ),
        ("noise_variance = 0.5", "noise = 1", "unknown hyperparameter of low-rank 'noise'"),
        (
            "components = 2",
            "components = 2.5",
            "models[0].hyperparameters.components must be a whole number",
        ),
        ('model = "clustering"', 'model = "clustring"', "did you mean 'clustering'?"),
        ('estimator = "lw"', 'estimator = "wl"', "unknown estimator 'wl'"),
        (
            "ladder = [10, 30, 300]",
            "ladder = []",
            "estimators[0].ladder must be a list of whole numbers",
        ),
        ("ladder = [10, 30, 300]", "ladder = [10, 10]", "estimators[0].ladder holds 10 twice"),
        (
            "ladder = [10, 30, 300]",
            "ladder = [1, 30]",
            "estimators[0]: distributions must be at least 2",
        ),
        (
            "ladders.clustering = [64]",
            "ladders.cluster = [64]",
            "did you mean 'estimators[2].ladders.clustering'?",
        ),
        ('models = ["clustering"]', 'models = ["clustery"]', "did you mean 'clustering'?"),
        ('label = "rank one"', 'label = "clustering"', "two models are called 'clustering'"),
        ('label = "rank one"', 'label = "a\\nb"', "models[1].label must be a text"),
        ("distributions = 300", "distributions = 1", "truth.distributions must be from 2"),
        (
            "distributions = 300",
            "agree_within = -1",
            "truth.agree_within must be a positive number",
        ),
        ('name = "small"', "", "name is missing"),
        ('name = "small"', 'name = "small', "not valid TOML"),
        (
            'estimator = "nested"',
            'estimator = "nested"\nknobs = {particles = 1}',
            "particles must be at least 2",
        ),
        (
            'estimator = "nested"',
            'estimator = "nested"\nknobs = {transitions = 1}',
            "is set by estimators[4] itself",
        ),
    ],
)
def test_refusals_name_the_key_and_the_way_out(old, new, names):
    assert old in SMALL
    with pytest.raises(InputError, match=re.escape(names)) as refused:
        parse(SMALL.replace(old, new, 1), "spec.toml")
    assert str(refused.value).startswith("spec.toml") and "\n" not in str(refused.value)


def test_files_that_are_no_specs(tmp_path):
    for name, content, says in [
        ("binary.toml", b"\xff\xfe\x00", "UTF-8"),
        ("large.toml", b"#" * 2_000_000, "larger than"),
    ]:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=says):
            read(tmp_path / name)
    for path in (tmp_path / "none.toml", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read(path)


ODD = [
    "0",
    "-1",
    "1e308",
    "nan",
    "inf",
    "true",
    '""',
    '"x"',
    "[]",
    "{}",
    "[[1]]",
    '["a", 1]',
    "1979-05-27",
    "99999999999999999999",
    '"bracketz:x"',
    '":"',
    '"..:a"',
    '"\\u0000"',
    '"os:path"',
    "[-1, 2]",
    "{a = 1}",
    "0.5",
]


def mutate(text: str, rng: random.Random) -> str:
    """One to three things wrong with a good spec."""
    for _ in range(rng.randint(1, 3)):
        lines = text.split("\n")
        i = rng.randrange(len(lines))
        kind = rng.randrange(7)
        if kind == 0:
            del lines[i]
        elif kind == 1:
            lines.insert(i, lines[rng.randrange(len(lines))])
        elif kind == 2 and "=" in lines[i]:
            lines[i] = lines[i].split("=")[0] + "= " + rng.choice(ODD)
        elif kind == 3 and "=" in lines[i]:
            key, _, value = lines[i].partition("=")
            lines[i] = key.strip()[:-1] + rng.choice("xyz_. -\"'") + " =" + value
        elif kind == 4:
            j = rng.randrange(len(lines))
            lines[i], lines[j] = lines[j], lines[i]
        elif kind == 5 and lines[i]:
            j = rng.randrange(len(lines[i]))
            lines[i] = lines[i][:j] + rng.choice("[]{}=\"'#,.\\\x00\x7fé9-") + lines[i][j + 1 :]
        else:
            numbers = list(re.finditer(r"\d+", lines[i]))
            if numbers:
                n = rng.choice(numbers)
                lines[i] = lines[i][: n.start()] + rng.choice(ODD) + lines[i][n.end() :]
        text = "\n".join(lines)
    return text


@pytest.mark.slow
def test_a_thousand_malformed_specs():
    """Each is refused in one printable sentence or is valid after all, and then expands to
    tasks."""
    rng = random.Random(5)
    good = [SMALL, spec_file("grosse2015", "quick").read_text()]
    refused = 0
    for case in range(1000):
        text = mutate(good[case % 2], rng)
        try:
            spec = parse(text, "spec.toml")
        except InputError as error:
            sentence = str(error)
            assert (
                sentence.startswith("spec.toml") and sentence.isprintable() and len(sentence) < 500
            ), sentence
            refused += 1
        else:
            if case % 10 == 0:
                assert expand(spec)
    assert refused > 500
