"""Two bars on standard error for an experiment: the whole of it with the time left, and the task under way."""

import time

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from bracketz.cli.progress import Bar
from bracketz.session import Session


def duration(seconds: float) -> str:
    """Seconds as a person would say them."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


class Bars(Bar):
    """The ``Watcher`` of the command line. Without a terminal: one line a task, with the count and the time left."""

    _under_way: "_TaskBar | None" = None

    def begin(self, total: int, done: int) -> None:  # type: ignore[override]
        self._total = total
        if done:
            self.note(f"{done} of {total} tasks are already done")
        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TextColumn("{task.fields[value]}"),
            console=self.console, transient=True, disable=not self.console.is_terminal,
        )  # fmt: skip
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

    def begin(self, label, total, done):
        self._total, self._first, self._began = total, done, time.monotonic()
        if self._bar is not None:
            self._bar.update(self._line, total=total, completed=done, value="")

    def advance(self, done, value):
        left = ""
        if self._total is not None and done > self._first:
            rate = (time.monotonic() - self._began) / (done - self._first)
            left = f", {duration(rate * (self._total - done))} left"
        if self._bar is not None:
            self._bar.update(self._line, completed=done, value=f"log w {value:,.1f}{left}")

    def remove(self):
        if self._bar is not None and self._line in self._bar.task_ids:
            self._bar.remove_task(self._line)

    def end(self):
        pass  # the line goes when the task has ended: short runs are timed several times

    def note(self, text):
        pass
