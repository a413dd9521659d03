"""What surrounds a run: the clock, the checkpoint, whoever watches."""

from contextlib import contextmanager

import numpy as np
import pytest

from bracketz import AIS, Clustering, InputError, Session, estimate, simulate
from bracketz.engine.checkpoint import Checkpoint

MODEL = Clustering(components=4)
DATA = simulate(MODEL, 12, 3, seed=0)


def test_without_a_budget_there_is_always_time_left():
    session = Session()
    assert session.remaining() == float("inf") and not session.expired()


def test_a_budget_runs_out_but_what_must_finish_does(monkeypatch):
    from bracketz.engine import session as module

    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    session = Session(max_seconds=5.0)
    assert session.remaining() == 5.0 and not session.expired()
    now = 106.0
    assert session.expired()
    session.must_finish = True
    assert not session.expired()


@pytest.mark.parametrize("seconds", [0.0, -1.0, float("nan")])
def test_a_budget_must_be_positive(seconds):
    with pytest.raises(InputError, match="`max_seconds` must be positive"):
        Session(max_seconds=seconds)


def test_a_session_without_a_checkpoint_saves_nothing():
    session = Session()
    assert session.restore("s") is None and not session.wants_checkpoint(final=True)


def test_a_checkpoint_is_due_after_its_seconds_and_at_the_end(tmp_path):
    session = Session(checkpoint=Checkpoint(tmp_path / "c", {}, every_seconds=3600.0))
    assert not session.wants_checkpoint(final=False) and session.wants_checkpoint(final=True)
    session.save("s", 7, [np.arange(3.0)])
    step, (leaf,) = Checkpoint(tmp_path / "c", {}, resume=True).restore("s")
    assert step == 7 and leaf.tolist() == [0, 1, 2]


def test_streams_of_one_checkpoint_do_not_mix(tmp_path):
    checkpoint = Checkpoint(tmp_path / "c", {"seed": 1})
    checkpoint.save("lower 32", 3, [np.zeros(2), np.ones(1)])
    checkpoint.save("upper 32", 4, [np.full(2, 7.0)])
    again = Checkpoint(tmp_path / "c", {"seed": 1}, resume=True)
    assert again.restore("lower 32")[0] == 3 and len(again.restore("lower 32")[1]) == 2
    assert again.restore("upper 32")[1][0].tolist() == [7, 7]
    assert again.restore("lower 64") is None


class Diary:
    """Writes down what it is told."""

    def __init__(self):
        self.told = []

    def begin(self, label, total, done):
        self.told.append(("begin", label, total, done))

    def advance(self, done, value):
        self.told.append(("advance", done, value))

    def end(self):
        self.told.append(("end",))

    def note(self, text):
        self.told.append(("note", text))


def test_who_watches_is_told_of_beginning_progress_and_end():
    diary = Diary()
    answer = estimate(MODEL, DATA, AIS(distributions=50), trials=5, session=Session(progress=diary))
    first, *middle, last = diary.told
    assert first == ("begin", "ais", 49, 0) and last == ("end",)
    done = [step for kind, step, _ in middle]
    assert done == sorted(done) and done[-1] == 49
    assert middle[-1][2] == pytest.approx(answer.log_ml)


class LongDiary(Diary):
    """Wants to know of compiling too; the diary above does not and works as well."""

    @contextmanager
    def working(self, sentence):
        self.told.append(("working", sentence))
        yield
        self.told.append(("worked",))


def test_who_has_working_is_told_of_compiling_before_the_run_begins():
    diary = LongDiary()
    session = Session(progress=diary)
    estimate(MODEL, DATA, AIS(distributions=50), trials=5, session=session)
    first_steps = [line[0] for line in diary.told[:5]]
    assert first_steps == ["working", "worked", "working", "worked", "begin"]
    assert diary.told[0] == ("working", "compiling ais")
    with Session(progress=Diary()).working("compiling"), Session().working("compiling"):
        pass


def test_the_end_is_told_even_when_the_work_fails():
    diary = Diary()
    with pytest.raises(ZeroDivisionError), Session(progress=diary).task("t", 3, 0):
        raise ZeroDivisionError
    assert diary.told[-1] == ("end",)
