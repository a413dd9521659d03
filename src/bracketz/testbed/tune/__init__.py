"""Settings by ground truth: which knobs reach an accuracy soonest, on data whose evidence is
known (the paper's Discussion)."""

from bracketz.testbed.tune.answer import TunedSettings
from bracketz.testbed.tune.search import tune

__all__ = ["TunedSettings", "tune"]
