"""Several pieces of work at once, their runs as one: what a card is for.

Each piece of work (a twin, a data set of a study) is ordinary code that calls ``run_chains`` now
and then. ``abreast`` gives each a thread; where all of them wait for a run, runs whose programs
have one structure are stacked, member by member, and advanced by one compiled loop over (members,
chains). Code between runs does not know.

    member m, chain c, step t:   key(seed_m, stream_m, c, t),  as in ``run_chains``

so a member has the random numbers it has alone, and its values up to rounding (a batched product is
not summed in the same order). Lengths may differ: a step beyond a member's last one is computed and
thrown away. Cost: as many steps as the longest member has, each over all members; a card that one
member leaves idle takes hardly longer for hundreds.

A loop is compiled for a number of members, so there are few: 1, 16, 256 and so on, filled up with
the last member again.
"""

import functools
import queue
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np

from bracketz.core.precision import double_precision
from bracketz.engine.run import (
    CHUNK_SECONDS,
    Outcome,
    Program,
    chain_keys,
    refuse_broken,
    refuse_drift,
    run_alone,
    runner,
)
from bracketz.engine.session import Session
from bracketz.errors import NumericalError

T = TypeVar("T")

#: A loop is compiled for a power of this many members.
SIZES = 16


class _Asked(NamedTuple):
    """A run that a member waits for."""

    program: Program
    num_steps: int
    chains: int
    seed: int
    stream: str
    session: Session
    answer: Future

    @property
    def kind(self):
        """Runs of one kind are advanced as one."""
        leaves, structure = jax.tree.flatten(self.program)
        shapes = tuple((np.shape(a), np.result_type(a)) for a in leaves)
        return structure, shapes, self.chains


def abreast(work: Sequence[Callable[[], T]]) -> list[T]:
    """What each of ``work`` returns, all done at once; see the module docstring.

    Args:
        work: functions of no argument. Their runs are advanced together where they can be.

    Returns:
        Their results, in order.

    Raises:
        Exception: what the first of them that failed raised, when all have ended.

    Example:
        >>> import bracketz as bz
        >>> from bracketz.engine.abreast import abreast
        >>> model = bz.Clustering(components=2)
        >>> sets = [bz.simulate(model, rows=6, columns=2, seed=seed) for seed in (1, 2)]
        >>> found = abreast([lambda d=d: bz.AIS(distributions=9).estimate(model, d) for d in sets])
        >>> len(found)
        2
    """
    if runner.get() is not run_alone:  # a member's own: its runs are gathered as they come
        return [task() for task in work]
    arrived: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
    # A setting of the caller's thread.
    doubles = jax.dtypes.canonicalize_dtype(np.float64) == np.float64

    def ask(program, num_steps, chains, seed, stream, session) -> Outcome:
        answer: Future = Future()
        arrived.put(_Asked(program, num_steps, chains, seed, stream, session, answer))
        return answer.result()

    def member(task):
        runner.set(ask)
        try:
            with jax.enable_x64(doubles):
                return task()
        finally:
            arrived.put(None)

    with ThreadPoolExecutor(max(len(work), 1), thread_name_prefix="abreast") as pool:
        results = [pool.submit(member, task) for task in work]
        _serve(arrived, len(work))
    return [result.result() for result in results]


def _serve(arrived, living: int) -> None:
    """Answer whoever asks, until all members have ended. An interrupt, or no memory: every member
    hears of it when it asks, so that none waits for ever."""
    waiting: list[_Asked] = []
    stopped: BaseException | None = None
    while living:
        try:
            came = arrived.get()
            if came is None:
                living -= 1
            else:
                waiting.append(came)
            if stopped is None and waiting and len(waiting) == living:
                _answer(waiting)
                waiting = []
        except BaseException as error:
            stopped = error
        if stopped is not None:
            for asked in waiting:
                if not asked.answer.done():
                    asked.answer.set_exception(stopped)
            waiting = []
    if stopped is not None:
        raise stopped


def _answer(waiting: list[_Asked]) -> None:
    groups: dict[Any, list[_Asked]] = {}
    for asked in waiting:
        groups.setdefault(None if asked.program.open_ended else asked.kind, []).append(asked)
    for kind, group in groups.items():
        if kind is not None and len(group) > 1:
            with double_precision():
                _together(group)
            continue
        for asked in group:
            try:
                asked.answer.set_result(run_alone(*asked[:-1]))
            except Exception as error:
                asked.answer.set_exception(error)


@jax.jit
def _start(programs, seeds, streams, chains):
    def member(program, seed, stream):
        def one(key, chain):
            return program.start_of(jax.random.fold_in(key, 0), chain)

        return jax.vmap(one)(chain_keys(seed, stream, chains), chains)

    return jax.vmap(member)(programs, seeds, streams)


@functools.partial(jax.jit, donate_argnames="carry")
def _advance(programs, carry, seeds, streams, chains, done, last, begin, end):
    """Steps begin..end-1 of those members that have them to make; arrays are (members, chains)."""
    keys = jax.vmap(lambda seed, stream: chain_keys(seed, stream, chains))(seeds, streams)

    def step(index, carry):
        def member(program, keys, before, done, last):
            # A step that does not count is one that exists: its numbers are legal ones.
            mine = jnp.clip(index, 0, jnp.maximum(last - 1, 0))

            def one(key, chain):
                return program.step(jax.random.fold_in(key, mine + 1), chain, mine)

            counts = (done <= index) & (index < last)
            after = jax.vmap(one)(keys, before)
            return jax.tree.map(lambda new, old: jnp.where(counts, new, old), after, before)

        return jax.vmap(member)(programs, keys, carry, done, last)

    return jax.lax.fori_loop(begin, end, step, carry)


@jax.jit
def _log_values(programs, carry):
    return jax.vmap(lambda program, chains: jax.vmap(program.log_value)(chains))(programs, carry)


def _stacked(trees: Sequence[Any]) -> Any:
    leaves, structures = zip(*(jax.tree.flatten(tree) for tree in trees), strict=True)
    stacked = [np.stack([np.asarray(a) for a in column]) for column in zip(*leaves, strict=True)]
    return jax.tree.unflatten(structures[0], stacked)


def _keep(group: list[_Asked], carry, reached: np.ndarray, ended: np.ndarray) -> None:
    """In the checkpoints that are due, or whose members have ended; each written once."""
    by_session: dict[int, list[int]] = {}
    for number, asked in enumerate(group):
        by_session.setdefault(id(asked.session), []).append(number)
    for numbers in by_session.values():
        session = group[numbers[0]].session
        if session.wants_checkpoint(bool(ended[numbers].all())):
            leaves = [np.asarray(a) for a in jax.tree.leaves(carry)]
            session.save_all(
                {group[n].stream: (int(reached[n]), [a[n] for a in leaves]) for n in numbers}
            )


def _together(group: list[_Asked]) -> None:
    """One loop for all of them."""
    size = SIZES
    while size < len(group):
        size *= SIZES
    filled = [*group, *[group[-1]] * (size - len(group))]
    programs = _stacked([asked.program for asked in filled])
    seeds = np.array([asked.seed for asked in filled], dtype=np.int64)
    streams = np.array([crc32(asked.stream.encode()) for asked in filled], dtype=np.uint32)
    chains = np.arange(group[0].chains, dtype=np.uint32)
    last = np.array([asked.num_steps for asked in filled], dtype=np.int64)
    last[len(group) :] = 0
    done = np.zeros(size, dtype=np.int64)

    began = time.perf_counter()
    carry = _start(programs, seeds, streams, chains)
    leaves, structure = jax.tree.flatten(carry)
    for number, asked in enumerate(group):
        kept = asked.session.restore(asked.stream)
        if kept is not None:
            done[number], flat = kept
            leaves = [a.at[number].set(b) for a, b in zip(leaves, flat, strict=True)]
    carry = jax.tree.unflatten(structure, leaves)

    def advance(carry, begin, end):
        carry = _advance(
            programs, carry, seeds, streams, chains, done, last, np.int64(begin), np.int64(end)
        )
        return jax.block_until_ready(carry)

    carry = advance(carry, 0, 0)
    values = np.asarray(_log_values(programs, carry))
    compile_seconds = (time.perf_counter() - began) / len(group)

    run_seconds, chunk, broken = 0.0, 1, {}
    now, top = int(np.min(done, where=done < last, initial=last.max())), int(last.max())
    session = group[0].session
    label = f"{group[0].stream} and {len(group) - 1} more"
    with session.task(label, top, now) as report:
        while now < top and not all(asked.session.expired() for asked in group):
            end = min(top, now + chunk)
            began = time.perf_counter()
            carry = advance(carry, now, end)
            elapsed = time.perf_counter() - began
            run_seconds += elapsed
            chunk = max(1, min(8 * chunk, int(CHUNK_SECONDS * (end - now) / max(elapsed, 1e-6))))
            values = np.asarray(_log_values(programs, carry))
            reached = np.maximum(done, np.minimum(end, last))
            for number, asked in enumerate(group):
                try:
                    refuse_broken(asked.program, values[number], reached[number], asked.stream)
                except NumericalError as error:
                    broken[number] = error
            _keep(group, carry, reached, reached == last)
            now = end
            report(now, float(np.mean(values[0])))
    ends = jax.tree.map(np.asarray, carry)
    for number, asked in enumerate(group):
        mine = jax.tree.map(lambda a, n=number: a[n], ends)
        finished = now >= asked.num_steps
        try:
            if number in broken:
                raise broken[number]
            if finished:
                refuse_drift(asked.program, mine, asked.stream)
        except NumericalError as error:
            asked.answer.set_exception(error)
            continue
        asked.answer.set_result(
            Outcome(values[number], mine, finished, run_seconds / len(group), compile_seconds)
        )
