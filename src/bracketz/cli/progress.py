"""What is to be seen on standard error while something runs; without a terminal there, only
notes."""

import math
import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from bracketz.cli.screen import Screen
from bracketz.cli.words import translated

if TYPE_CHECKING:
    from bracketz.engine.session import Session

#: Seconds before a spinner appears: what is over sooner needs no explanation.
PATIENCE = 0.3
#: Characters of a label that stands beside its bar; a longer one gets a line of its own.
SHORT = 20


class RateColumn(ProgressColumn):
    def render(self, task):
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed and speed >= 1 else "", style="dim")


class ElapsedColumn(ProgressColumn):
    def render(self, task):
        return Text(duration(task.elapsed or 0.0), style="dim")


class Bars(Progress):
    """Bars that give way to the words around them, and under them what the last one is about."""

    about = ""

    def get_renderables(self) -> Iterable[RenderableType]:
        yield from super().get_renderables()
        if self.about:
            yield Text(self.about)


def _fixed() -> Column:
    """A column that keeps its width; what has to shrink is the bar."""
    return Column(no_wrap=True)


class Notes:
    """Sentences on standard error, above a bar if there is one."""

    def __init__(self, quiet: bool = False):
        self.console = Screen(stderr=True, quiet=quiet)
        self._bar: Bars | None = None

    @property
    def seen(self) -> bool:
        """Whether there is somebody to draw for."""
        return self.console.is_interactive and not self.console.quiet

    def _bars(self, *columns: ProgressColumn) -> Bars:
        return Bars(*columns, console=self.console, transient=True, disable=not self.seen)

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, text: str) -> None:
        self.console.print(translated(text), soft_wrap=True)


class ProgressBar(Notes):
    """One bar for the run under way, or a spinner where there are no steps to count."""

    _spinner: "_Spinner | None" = None
    _sentence = ""  # beside the spinner

    def begin(self, label: str, total: int | None, done: int) -> None:
        self._still()
        self._bar = self._bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(table_column=_fixed()),
            RateColumn(table_column=_fixed()),
            TimeRemainingColumn(table_column=_fixed()),
            TextColumn("{task.fields[value]}", markup=False),
        )
        short = len(label) <= SHORT
        self._bar.about = "" if short else label
        self._task = self._bar.add_task(
            label if short else "", total=total, completed=done, value=""
        )
        self._bar.start()

    def advance(self, done: int, value: float) -> None:
        if self._bar is not None:
            text = "" if math.isnan(value) else f"log weight {value:,.1f}"
            self._bar.update(self._task, completed=done, value=text)

    @contextmanager
    def working(self, sentence: str) -> Iterator[None]:
        """Beside the bar if there is one, else with a spinner, until the next bar begins; then
        what was said before goes on."""
        if self._bar is not None:
            self._bar.update(self._task, value=sentence)
            yield
            return
        before = self._sentence
        self._spin(sentence)
        try:
            yield
        finally:
            self._spin(before if self._sentence == sentence else "")

    def _spin(self, sentence: str) -> None:
        self._still()
        self._sentence = sentence
        if self.seen and sentence:
            self._spinner = _Spinner(self.console, sentence)

    def _still(self) -> None:
        self._sentence = ""
        if self._spinner is not None:
            self._spinner.stop()
            self._spinner = None


class _Spinner:
    """A sentence and how long it has been true, after a moment of patience."""

    def __init__(self, console: Console, sentence: str):
        self._bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            ElapsedColumn(),
            console=console,
            transient=True,
        )
        self._bar.add_task(sentence, total=None)
        self._start = Timer(PATIENCE, self._bar.start)
        self._start.daemon = True
        self._start.start()

    def stop(self) -> None:
        self._start.cancel()
        self._start.join()
        self._bar.stop()


def waiting(sentence: str, quiet: bool) -> AbstractContextManager[None]:
    """A spinner for as long as a block takes.

    Example:
        >>> with waiting("loading JAX", quiet=True):
        ...     pass
    """
    return ProgressBar(quiet).working(sentence)


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class ExperimentBars(Notes):
    """The ``Watcher`` of the command line. Without a terminal: one line per task, with the count
    and the time left."""

    _under_way: "_TaskBar | None" = None

    def begin(self, total: int, done: int) -> None:
        self._total = total
        if done:
            self.note(f"{done} of {total} tasks are already done")
        self._bar = self._bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(table_column=_fixed()),
            TextColumn("{task.fields[value]}", markup=False),
        )
        self._overall = self._bar.add_task("all tasks", total=total, completed=done, value="")
        self._bar.start()

    def session(self, task) -> "Session":
        from bracketz.engine.session import Session

        self._under_way = _TaskBar(self._bar, task.describe())
        return Session(progress=self._under_way)

    def ended(self, ended, done: int, seconds_left: float | None) -> None:
        if self._under_way is not None:
            self._under_way.remove()
        left = "" if seconds_left is None else f"about {duration(seconds_left)} left"
        if self._bar is not None:
            self._bar.update(self._overall, completed=done, value=left)
        head = f"{done:>4}/{self._total} {ended.task.describe()}"
        if ended.result is None:
            self.note(f"{head}: failed: {ended.message}")
        else:
            mean = sum(ended.result.values) / len(ended.result.values)
            line = f"{head}: mean log evidence {mean:.1f}, {ended.result.run_seconds:.2f} s"
            self.note(line if self.seen or not left else f"{line}; {left}")


class _TaskBar:
    """The steps of one task with the time they have left, under the overall bar; its name below."""

    def __init__(self, bar: Bars | None, label: str):
        self._bar = bar
        self._total: int | None = None
        self._line = None
        if bar is not None:
            bar.about = label
            self._line = bar.add_task("this one", total=None, value="compiling")

    def _show(self, **changes) -> None:
        if self._bar is not None and self._line is not None:
            self._bar.update(self._line, **changes)

    def begin(self, label, total, done):
        self._total, self._first, self._began = total, done, time.monotonic()
        self._show(total=total, completed=done, value="")

    def advance(self, done, value):
        left = ""
        if self._total is not None and done > self._first:
            rate = (time.monotonic() - self._began) / (done - self._first)
            left = f", {duration(rate * (self._total - done))} left"
        self._show(completed=done, value=f"log weight {value:,.1f}{left}")

    def remove(self):
        if self._bar is not None and self._line in self._bar.task_ids:
            self._bar.remove_task(self._line)
            self._bar.about = ""

    def end(self):
        pass  # the line goes when the task has ended: short runs are timed several times

    def note(self, text):
        pass
