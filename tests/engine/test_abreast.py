"""Runs of several members as one batch: what each of them has alone."""

import queue
import threading
from functools import partial
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import bracketz as bz
from bracketz.engine import abreast as module
from bracketz.engine.abreast import abreast


@bz.pytree_dataclass
class Walk(bz.Program):
    """Steps of a size; not a number from step ``breaks`` on."""

    size: float = 1.0
    breaks: int = 1000

    def start(self, key):
        return jax.random.normal(key)

    def step(self, key, carry, index):
        return jnp.where(index >= self.breaks, jnp.nan, carry + self.size * jax.random.normal(key))

    def log_value(self, carry):
        return carry


@bz.pytree_dataclass
class Count(bz.Program):
    """Another structure: the next value of a counter that is nobody's business."""

    def start(self, key):
        return jnp.zeros(())

    def step(self, key, carry, index):
        return carry + index

    def log_value(self, carry):
        return carry


def walked(number, session=None, program=None, chains=3):
    return bz.run_chains(
        program or Walk(size=1.0 + number),
        5 + 3 * number,
        chains=chains,
        seed=number,
        stream=f"walk {number}",
        session=session or bz.Session(),
    )


@pytest.fixture
def batches(monkeypatch):
    """How many runs each batch had."""
    sizes, real = [], module._together

    def counted(group):
        sizes.append(len(group))
        real(group)

    monkeypatch.setattr(module, "_together", counted)
    return sizes


def test_lengths_seeds_and_programs_differ_and_values_do_not(batches):
    alone = [walked(number) for number in range(4)]
    together = abreast([partial(walked, number) for number in range(4)])
    assert batches == [4]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one.log_values, other.log_values)
        np.testing.assert_array_equal(one.carry, other.carry)
        assert other.finished


def test_other_structures_and_numbers_of_chains_are_batches_of_their_own(batches):
    count = Count()
    work = [
        partial(walked, 0),
        partial(walked, 1),
        partial(walked, 2, chains=2),
        partial(walked, 1, program=count),
        partial(walked, 2, program=count),
    ]
    together = abreast(work)
    assert sorted(batches) == [2, 2]  # and one run alone
    for one, other in zip([task() for task in work], together, strict=True):
        np.testing.assert_array_equal(one.log_values, other.log_values)


def test_one_after_the_other_within_a_member(batches):
    def twice(number):
        return walked(number).log_values[0] + walked(number + 1).log_values[0]

    assert abreast([partial(twice, 0), partial(twice, 1)]) == [twice(0), twice(1)]
    assert batches == [2, 2]


def test_a_batch_within_a_member_is_gathered_with_the_others(batches):
    def pair(number):
        return abreast([partial(walked, number), partial(walked, number + 1)])

    abreast([partial(pair, 0), partial(pair, 1)])
    assert batches == [2, 2]


def test_who_breaks_breaks_alone():
    broken = Walk(breaks=2)
    seen = {}

    def kept(number, program):
        try:
            seen[number] = walked(number, program=program)
        except bz.NumericalError as error:
            seen[number] = error

    abreast([partial(kept, 0, None), partial(kept, 1, broken), partial(kept, 2, None)])
    assert "log evidence of nan in 3 of 3 chains" in str(seen[1])
    np.testing.assert_array_equal(seen[2].log_values, walked(2).log_values)


def test_what_a_member_raises_comes_when_all_have_ended():
    ended = []

    def fails():
        raise bz.InputError("no")

    def works():
        ended.append(walked(1))

    with pytest.raises(bz.InputError, match="no"):
        abreast([fails, works, works])
    assert len(ended) == 2
    assert not [t for t in threading.enumerate() if t.name.startswith("abreast")]


def test_an_interrupt_ends_every_member(monkeypatch):
    def interrupted(group):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        abreast([partial(walked, 0), partial(walked, 1)])
    assert not [t for t in threading.enumerate() if t.name.startswith("abreast")]


def test_an_interrupt_between_runs_ends_every_member(monkeypatch):
    """While members are busy, whoever serves them waits; Ctrl-C comes to it there."""

    class Interrupted(queue.SimpleQueue):
        told = False

        def get(self):
            came = super().get()
            if not self.told:
                self.told = True
                self.put(came)
                raise KeyboardInterrupt
            return came

    monkeypatch.setattr(module, "queue", SimpleNamespace(SimpleQueue=Interrupted))
    with pytest.raises(KeyboardInterrupt):
        abreast([partial(walked, 0), partial(walked, 1)])
    assert not [t for t in threading.enumerate() if t.name.startswith("abreast")]


def test_a_batch_goes_on_from_a_checkpoint(tmp_path, monkeypatch):
    """Killed after its first steps; what a member has saved is not done again."""

    def session():
        file = tmp_path / "run.ckpt"
        return bz.Session(checkpoint=bz.Checkpoint(file, {}, resume=True, every_seconds=0))

    first, real = session(), module._advance

    def dies(*args):
        if int(args[-2]) >= 1:  # the second piece
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(module, "_advance", dies)
    with pytest.raises(KeyboardInterrupt):
        abreast([partial(walked, number, first) for number in range(3)])
    monkeypatch.setattr(module, "_advance", real)
    second = session()
    assert second.restore("walk 1")[0] == 1
    together = abreast([partial(walked, number, second) for number in range(3)])
    for number, other in enumerate(together):
        np.testing.assert_array_equal(walked(number).log_values, other.log_values)
    assert second.restore("walk 2")[0] == 11
    # All of it is there: nothing is run.
    again = abreast([partial(walked, number, session()) for number in range(3)])
    np.testing.assert_array_equal(again[2].log_values, together[2].log_values)


def test_the_deadline_cuts_a_batch_short():
    session = bz.Session(max_seconds=1e-9)
    for outcome in abreast([partial(walked, number, session) for number in range(2)]):
        assert not outcome.finished
