"""The loop that runs everything: compiled once for any length, chunk by chunk, on all devices.

A ``Program`` says how one chain starts and makes one step. ``run_chains`` advances a number of
chains through a number of steps. The compiled function takes the first and last step as traced
numbers, so one compilation serves any number of steps; between chunks there is room for the
progress bar, the checkpoint, Ctrl-C and the time budget.

Bits do not depend on how the work is cut. Randomness is keyed by (seed, stream, chain, step), and
the unit of computation is a block of chains whose size follows from the number of chains alone: the
same compiled block body runs for any chunk and on any number of devices.
"""

import functools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from typing import Any, ClassVar, NamedTuple
from zlib import crc32

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from bracketz.core.precision import double_precision
from bracketz.core.validation import require_room
from bracketz.core.weights import logmeanexp
from bracketz.engine.devices import usable_devices, use_all_cores
from bracketz.engine.session import Session
from bracketz.errors import InputError, broken
from bracketz.numerics.noise import THREEFRY

#: How often the compiled loop has been traced in this process; tests read it.
trace_count = 0

CHUNK_SECONDS = 0.25
#: What a cache may be off by (``Program.audit``).
MAX_DRIFT = 1e-3
#: Chains in one block, at the most. On a CPU a block should stay inside the cache.
MAX_BLOCK = {"cpu": 64}
MAX_BLOCK_ACCELERATOR = 1 << 15
#: And at the least, if there are so many: on an accelerator a small block takes as long as a larger
#: one.
MIN_BLOCK = {"cpu": 1}
MIN_BLOCK_ACCELERATOR = 1 << 12


class Program(ABC):
    """One chain: how it starts, one step, and the log-evidence value it currently stands for.

    Subclasses are frozen dataclasses made by ``pytree_dataclass``, so that one compilation serves
    every value of their traced fields. ``sign`` is -1 where it is reciprocals of the values that
    average (upper bounds), ``open_ended`` is True where chains stop by themselves (``done``) and
    the number of steps is only a limit.

    Example:
        >>> import bracketz as bz, jax, jax.numpy as jnp
        >>> @bz.pytree_dataclass
        ... class Walk(bz.Program):
        ...     def start(self, key):
        ...         return jnp.zeros(())
        ...
        ...     def step(self, key, carry, index):
        ...         return carry + jax.random.normal(key)
        ...
        ...     def log_value(self, carry):
        ...         return carry
        >>> walk = bz.run_chains(Walk(), 5, chains=3, seed=0, stream="walk", session=bz.Session())
        >>> walk.log_values.shape
        (3,)
    """

    #: Chains stop by themselves; the number of steps is only a limit.
    open_ended: ClassVar[bool] = False

    @property
    def sign(self) -> int:
        """1, or -1 where the value stands for -log of an average of reciprocals."""
        return 1

    @property
    def impossible(self) -> float | None:
        """An infinite value that no chain can have; None: either may be.

        A run fails where a chain has it, as it does where a value is not a number.
        """
        return None

    @abstractmethod
    def start(self, key) -> Any:
        """The initial carry.

        Args:
            key: a JAX random key.

        Returns:
            A pytree of arrays.
        """

    def start_of(self, key, chain) -> Any:
        """The initial carry of one chain of many, where it matters which; ``start`` by default.

        Args:
            key: a JAX random key.
            chain: its number (0, 1, ...); traced, and beyond the last one for chains that fill a
                block up.

        Returns:
            A pytree of arrays.
        """
        return self.start(key)

    @abstractmethod
    def step(self, key, carry, index) -> Any:
        """Step ``index`` (0, 1, ...).

        Args:
            key: a JAX random key, used for this step alone.
            carry: what the step before returned.
            index: the step; traced.

        Returns:
            The new carry, of the same structure.
        """

    @abstractmethod
    def log_value(self, carry) -> jax.Array:
        """This chain's log-evidence estimate, final after the last step.

        Args:
            carry: what the last step returned.

        Returns:
            A scalar; infinite while there is nothing to say yet, and never NaN once a step was
            made: the run fails there.
        """

    def audit(self, carry) -> float | None:
        """How far what the steps take from their caches is off at the end; None: nothing to check.

        Called once, outside compiled code, when the run has finished.

        Args:
            carry: where the chains ended, leading axis chains.

        Returns:
            An error relative to 1 + the right value; the run fails above 1e-3.
        """
        return None

    def done(self, carry) -> jax.Array:
        """Whether this chain has stopped by itself; the run ends when all have.

        Args:
            carry: what the last step returned.

        Returns:
            A scalar boolean.
        """
        return jnp.asarray(False)


class Outcome(NamedTuple):
    """What a run gives back; the leading axis of everything is chains.

    Attributes:
        log_values: the log-evidence value of each chain.
        carry: where each chain ended.
        finished: False where the session's deadline cut the run short.
        run_seconds: spent in steps.
        compile_seconds: spent before them.

    Example:
        >>> import bracketz as bz
        >>> model = bz.Clustering(components=2)
        >>> data = bz.simulate(model, rows=6, columns=2)
        >>> outcome = bz.AIS(distributions=9).run(model, data, 2, seed=0, session=bz.Session())
        >>> outcome.finished, outcome.log_values.shape
        (True, (2,))
    """

    log_values: np.ndarray
    carry: Any
    finished: bool
    run_seconds: float
    compile_seconds: float


def _layout(chains: int, devices: list) -> tuple[int, int, list]:
    """(block size, number of blocks, devices to use). The block size ignores the devices."""
    platform = devices[0].platform
    cap, least = (
        MAX_BLOCK.get(platform, MAX_BLOCK_ACCELERATOR),
        MIN_BLOCK.get(platform, MIN_BLOCK_ACCELERATOR),
    )
    block = min(cap, chains, max(least, math.ceil(chains / 2)))
    blocks = math.ceil(chains / block)
    used = devices[: min(len(devices), blocks)]
    return block, math.ceil(blocks / len(used)) * len(used), used


class _Plan(NamedTuple):
    """Where a number of chains run."""

    chain_ids: np.ndarray  # (blocks, chains of a block)
    blocks_here: np.int64  # on each device
    mesh: Mesh
    sharding: NamedSharding


def _plan(chains: int) -> _Plan:
    block, blocks, devices = _layout(chains, usable_devices())
    mesh = Mesh(np.array(devices), ("blocks",))
    chain_ids = np.arange(blocks * block, dtype=np.uint32).reshape(blocks, block)
    sharding = NamedSharding(mesh, PartitionSpec("blocks"))
    return _Plan(chain_ids, np.int64(blocks // len(devices)), mesh, sharding)


def chain_keys(seed, stream, chain_ids):
    """A key per chain; a step folds its number in."""
    key = jax.random.fold_in(jax.random.key(seed, impl=THREEFRY), stream)
    return jax.vmap(lambda chain: jax.random.fold_in(key, chain))(chain_ids)


@jax.jit
def _start(program, seed, stream, chain_ids):
    def one(key, chain):
        return program.start_of(jax.random.fold_in(key, 0), chain)

    def block(ids):
        return jax.vmap(one)(chain_keys(seed, stream, ids), ids)

    return jax.lax.map(block, chain_ids)


@jax.jit
def _log_values(program, carry):
    return jax.vmap(jax.vmap(lambda chain: (program.log_value(chain), program.done(chain))))(carry)


#: Compiled as one: op by op it costs a second on a cold start.
_mean_value = jax.jit(logmeanexp)


@functools.partial(jax.jit, static_argnames="mesh", donate_argnames="carry")
def _advance(program, carry, seed, stream, chain_ids, first, last, blocks_here, mesh):
    """Steps first..last-1 of every chain. Arrays are (blocks, chains of a block, ...)."""
    global trace_count
    trace_count += 1

    def on_device(program, carry, seed, stream, chain_ids, first, last, blocks_here):
        def advance_block(b, carry):
            keys = chain_keys(seed, stream, chain_ids[b])

            def step(index, block):
                def one(key, chain):
                    return program.step(jax.random.fold_in(key, index + 1), chain, index)

                return jax.vmap(one)(keys, block)

            block = jax.tree.map(lambda a: a[b], carry)
            block = jax.lax.fori_loop(first, last, step, block)
            return jax.tree.map(lambda a, v: a.at[b].set(v), carry, block)

        # A traced bound: the block body is compiled alike for one block per device and for many.
        return jax.lax.fori_loop(0, blocks_here, advance_block, carry)

    over, all_of = PartitionSpec("blocks"), PartitionSpec()
    return jax.shard_map(
        on_device,
        mesh=mesh,
        in_specs=(all_of, over, all_of, all_of, over, all_of, all_of, all_of),
        out_specs=over,
        check_vma=False,
    )(program, carry, seed, stream, chain_ids, first, last, blocks_here)


def run_chains(
    program: Program,
    num_steps: int,
    *,
    chains: int,
    seed: int,
    stream: str,
    session: Session | None = None,
) -> Outcome:
    """Advance ``chains`` chains through ``num_steps`` steps.

    Bits do not depend on how the work is cut: not on the session, a resume, or the number of
    devices.

    Args:
        program: one chain.
        num_steps: how far; a limit where the program is open-ended.
        chains: how many.
        seed: everything random follows from it.
        stream: names this run within its session: it keeps the randomness of different runs apart
            and labels the checkpoint.
        session: time budget, checkpoint and progress.

    Returns:
        The chains' values and ends. A run cut short by the session's deadline has ``finished =
        False``.

    Raises:
        InputError: fewer than one chain.
        NumericalError: a chain's value is not a number or the program's ``impossible`` one, or a
            cache has drifted (``audit``).

    Example:
        >>> import bracketz as bz, jax, jax.numpy as jnp
        >>> @bz.pytree_dataclass
        ... class Count(bz.Program):
        ...     def start(self, key):
        ...         return jnp.zeros(())
        ...
        ...     def step(self, key, carry, index):
        ...         return carry + 1
        ...
        ...     def log_value(self, carry):
        ...         return carry
        >>> run = bz.run_chains(Count(), 5, chains=2, seed=0, stream="count", session=bz.Session())
        >>> run.log_values.tolist()
        [5.0, 5.0]
    """
    if chains < 1:
        raise InputError(f"the number of trials or chains must be at least 1, got {chains}")
    require_room(chains, f"a run of {chains} chains or trials", "take fewer of them")
    use_all_cores()
    return runner.get()(program, num_steps, chains, seed, stream, session or Session())


def run_alone(program, num_steps, chains, seed, stream, session) -> Outcome:
    """``run_chains`` here and now."""
    with double_precision():
        return _run(program, num_steps, chains, seed, stream, session)


#: Who does a run; ``bracketz.engine.abreast`` gathers those of several threads.
runner: ContextVar[Callable[..., Outcome]] = ContextVar("runner", default=run_alone)


def stages(program: Program, *, chains: int) -> dict[str, Any]:
    """The functions ``run_chains`` calls for this program, lowered but not compiled: "advance",
    "start", "log_values"."""
    use_all_cores()
    with double_precision():
        plan = _plan(chains)
        seed, stream, step = np.int64(0), np.uint32(0), np.int64(0)
        start = _start.lower(program, seed, stream, plan.chain_ids)
        carry = jax.tree.map(
            lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=plan.sharding), start.out_info
        )
        advance = _advance.lower(
            program,
            carry,
            seed,
            stream,
            plan.chain_ids,
            step,
            step,
            plan.blocks_here,
            mesh=plan.mesh,
        )
        return {"advance": advance, "start": start, "log_values": _log_values.lower(program, carry)}


def compile_together(programs: Sequence[Program], *, chains: int) -> float:
    """Compile what ``run_chains`` needs for each of ``programs``, side by side; seconds it took.

    XLA compiles a program on about one core, so two programs on two cores take the time of one.
    Nothing is executed, and ``run_chains`` finds what was compiled here; without this call it
    compiles by itself. Where others do the runs (``runner``) nothing is compiled.
    """
    if runner.get() is not run_alone:
        return 0.0
    began = time.perf_counter()
    lowered = [stages(program, chains=chains) for program in programs]
    # The long ones first.
    each = [stage[name] for name in ("advance", "start", "log_values") for stage in lowered]

    def compiled(stage):
        with double_precision():  # threads do not have it from here, and a run looks for its own
            stage.compile()

    with ThreadPoolExecutor(max(2, len(usable_devices()))) as pool:
        list(pool.map(compiled, each))
    return time.perf_counter() - began


def _run(program, num_steps, chains, seed, stream, session) -> Outcome:
    chain_ids, blocks_here, mesh, sharding = _plan(chains)
    stream_id = np.uint32(crc32(stream.encode()))
    seed_ = np.int64(seed)

    def unblocked(tree):
        return jax.tree.map(
            lambda a: np.asarray(a).reshape(math.prod(a.shape[:2]), *a.shape[2:])[:chains], tree
        )

    began = time.perf_counter()
    with session.working(f"compiling {stream}"):
        fresh = _start(program, seed_, stream_id, chain_ids)
    leaves, treedef = jax.tree.flatten(fresh)
    saved = session.restore(stream)
    done = 0
    if saved is not None:
        done, flat = saved
        # Padding chains beyond ``chains`` are recomputed nowhere: any filling will do.
        leaves = [_reblock(old, new, chains) for old, new in zip(leaves, flat, strict=True)]
    carry = jax.device_put(jax.tree.unflatten(treedef, leaves), sharding)

    def advance(carry, first, last):
        carry = _advance(
            program,
            carry,
            seed_,
            stream_id,
            chain_ids,
            np.int64(first),
            np.int64(last),
            blocks_here,
            mesh=mesh,
        )
        return jax.block_until_ready(carry)

    with session.working(f"compiling {stream}"):
        carry = advance(carry, done, done)  # no steps: compiles, if need be
        values, stopped = unblocked(_log_values(program, carry))
    compile_seconds = time.perf_counter() - began

    run_seconds = 0.0
    chunk = 1
    with session.task(stream, None if program.open_ended else num_steps, done) as report:
        while done < num_steps and not stopped.all() and not session.expired():
            last = min(num_steps, done + chunk)
            began = time.perf_counter()
            carry = advance(carry, done, last)
            elapsed = time.perf_counter() - began
            run_seconds += elapsed
            # Aim at a quarter of a second, growing by at most 8 so that one lucky chunk cannot
            # overshoot.
            chunk = max(1, min(8 * chunk, int(CHUNK_SECONDS * (last - done) / max(elapsed, 1e-6))))
            done = last
            values, stopped = unblocked(_log_values(program, carry))
            refuse_broken(program, values, done, stream)
            report(done, program.sign * float(_mean_value(program.sign * values)))
            if session.wants_checkpoint(done == num_steps or stopped.all()):
                session.save(stream, done, jax.tree.leaves(unblocked(carry)))
    ends, finished = unblocked(carry), done >= num_steps or bool(stopped.all())
    if finished:
        refuse_drift(program, ends, stream)
    return Outcome(values, ends, finished, run_seconds, compile_seconds)


def refuse_drift(program: Program, ends, stream: str) -> None:
    """When a run has ended: its caches must still be right."""
    drift = program.audit(ends)
    if drift is not None and not drift <= MAX_DRIFT:
        raise broken(
            f"what a sweep of '{stream}' takes from its cache is off by {drift:.2g} of what a"
            " rebuild gives"
        )


def refuse_broken(program: Program, values: np.ndarray, done: int, stream: str) -> None:
    """At once: a run that is not a number now will not be one later."""
    bad = np.isnan(values)
    if program.impossible is not None:
        bad |= values == program.impossible
    if bad.any():
        worst = values[bad][0]
        of = f"{bad.sum()} of {len(values)} chains"
        raise broken(f"'{stream}' gave a log evidence of {worst} in {of} after step {done:,}")


def _reblock(template, flat, chains):
    """Chains as stored, back in (blocks, block) form."""
    full = np.array(template).reshape(math.prod(template.shape[:2]), *template.shape[2:])
    full[:chains] = flat
    return full.reshape(template.shape)
