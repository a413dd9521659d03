"""What is to be seen on standard error while something runs."""

import math
import time

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from bracketz.cli.words import translated
from bracketz.engine.session import Session


class RateColumn(ProgressColumn):
    def render(self, task):
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f}/s" if speed else "", style="dim")


class Notes:
    """Sentences on standard error, above a bar if there is one. No bar where standard error is no
    terminal."""

    def __init__(self, quiet: bool = False):
        self.console = Console(stderr=True, quiet=quiet)
        self._bar: Progress | None = None

    def end(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def note(self, text: str) -> None:
        self.console.print(translated(text), highlight=False, soft_wrap=True)


class ProgressBar(Notes):
    """One bar for the run under way."""

    def begin(self, label: str, total: int | None, done: int) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            RateColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[value]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._task = self._bar.add_task(label, total=total, completed=done, value="")
        self._bar.start()

    def advance(self, done: int, value: float) -> None:
        if self._bar is not None:
            text = "" if math.isnan(value) else f"log w {value:,.1f}"
            self._bar.update(self._task, completed=done, value=text)


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
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[value]}"),
            console=self.console,
            transient=True,
            disable=not self.console.is_terminal,
        )
        self._overall = self._bar.add_task("all tasks", total=total, completed=done, value="")
        self._bar.start()

    def session(self, task) -> Session:
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
            self.note(f"{head}: mean {mean:.1f}, {ended.result.run_seconds:.2f} s; {left}")


class _TaskBar:
    """The steps of one task with the time they have left, as a line under the overall bar."""

    def __init__(self, bar: Progress | None, label: str):
        self._bar = bar
        self._total: int | None = None
        self._line = None if bar is None else bar.add_task(label, total=None, value="compiling")

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
        self._show(completed=done, value=f"log w {value:,.1f}{left}")

    def remove(self):
        if self._bar is not None and self._line in self._bar.task_ids:
            self._bar.remove_task(self._line)

    def end(self):
        pass  # the line goes when the task has ended: short runs are timed several times

    def note(self, text):
        pass
