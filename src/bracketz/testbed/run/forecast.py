"""How long the rest of an experiment will take: cost grows with the knob, at a rate learnt from
what has run."""

from bracketz.testbed.spec.tasks import Task
from bracketz.testbed.store.store import Store


class Forecast:
    """Seconds left. A task costs its rung times the seconds that a unit of its program's last rung
    took; a program not yet met is taken to cost what the others cost on average, compilation
    included."""

    def __init__(self, tasks: list[Task]):
        self.waiting = {task.id: task for task in tasks}
        self._size: dict[tuple, int] = {}  # the sum of the rungs of each program
        for task in tasks:
            self._size[task.program] = self._size.get(task.program, 0) + task.rung + 1
        self._rates: dict[tuple, float] = {}
        self._compiles: dict[tuple, float] = {}

    @classmethod
    def from_store(cls, store: Store, tasks: list[Task]) -> "Forecast":
        """With what an earlier run of the same experiment has learnt."""
        forecast = cls(tasks)
        known = {
            task: (ran, compiled)
            for task, ran, compiled in store.rows(
                "SELECT task, run_seconds, compile_seconds FROM timings"
            )
        }
        for task in tasks:
            if task.id in known:
                forecast.learn(task, *known[task.id])
        return forecast

    def learn(self, task: Task, run_seconds: float, compile_seconds: float) -> None:
        self.forget(task)
        self._rates[task.program] = run_seconds / (task.rung + 1)
        self._compiles.setdefault(task.program, compile_seconds)

    def forget(self, task: Task) -> None:
        self.waiting.pop(task.id, None)

    def seconds_left(self) -> float | None:
        """None as long as nothing is known."""
        if not self._rates:
            return None
        costs = [self._rates[p] * self._size[p] + self._compiles[p] for p in self._rates]
        met = [t for t in self.waiting.values() if t.program in self._rates]
        new = {t.program for t in self.waiting.values()} - self._rates.keys()
        return sum(self._rates[t.program] * (t.rung + 1) for t in met) + len(new) * sum(
            costs
        ) / len(costs)
