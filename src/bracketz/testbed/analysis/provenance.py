"""What made an experiment's results."""

import html
import json
from collections.abc import Iterable
from typing import Any

import pandas as pd

from bracketz.testbed.store.frames import Frames


def provenance(frames: Frames) -> dict[str, Any]:
    """What made these results: experiment, command, versions, commit, machine, load and time."""
    tasks = frames.tasks.drop_duplicates("task")
    done = tasks[tasks.status == "done"]
    e = frames.experiment
    command = f"bracketz experiment run spec.toml --store results.db --seed {e['seed']}"
    if e["paper"] and e["name"].startswith(f"{e['paper']}-"):
        preset = e["name"].removeprefix(f"{e['paper']}-")
        command = f"bracketz reproduce {e['paper']} --preset {preset} --seed {e['seed']} --out DIR"
    made = [json.loads(text) for text in done.versions.dropna().unique()]
    loads = [load for each in made if (load := each.pop("load", None)) is not None]
    return {
        "experiment": e["name"],
        "seed": e["seed"],
        "command": command,
        "last run": e["updated"],
        "versions": [each for i, each in enumerate(made) if each not in made[:i]],
        "load when it began": {"least": min(loads), "largest": max(loads)} if loads else None,
        "devices": sorted(done.device.dropna().unique()),
        "run seconds": round(float(done.run_seconds.sum()), 1),
        "compile seconds": round(float(done.compile_seconds.sum()), 1),
        "tasks": _counts(tasks.status),
    }


def as_html(frames: Frames) -> str:
    entries = []
    for name, value in provenance(frames).items():
        if value is None:
            continue
        for part in value if isinstance(value, list) else [value]:
            text = (
                ", ".join(f"{k} {v}" for k, v in part.items())
                if isinstance(part, dict)
                else str(part)
            )
            entries.append(f"<dt>{html.escape(name)}</dt><dd>{html.escape(text)}</dd>")
    tasks = frames.tasks.drop_duplicates("task")
    failures = "".join(
        f"<li>{html.escape(f'{r.problem} {r.curve} at {r.rung}: {r.message}')}</li>"
        for r in tasks[tasks.status == "failed"].itertuples()
    )
    text = html.escape(frames.experiment["spec"])
    spec = f"<details><summary>the spec</summary><pre>{text}</pre></details>"
    failed = f"<p>Failed:</p><ul>{failures}</ul>" if failures else ""
    return f"<dl>{''.join(entries)}</dl>{failed}{spec}"


def _counts(states: Iterable[str]) -> str:
    return ", ".join(f"{n} {state}" for state, n in pd.Series(states).value_counts().items())
