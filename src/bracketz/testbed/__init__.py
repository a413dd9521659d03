"""The testbed: experiments that run every estimator against ground truth, survive crashes and end in pictures.

    frames = bracketz.testbed.load("results.db")    # tidy pandas frames

A spec (TOML) expands to tasks; a runner executes them, in this process or on a Dask cluster, into a SQLite store;
measures, figures, the ledger of claims and the report are computed from the store alone.
"""


def load(path):
    """``bracketz.testbed.frames.load``: every table of a store as a tidy pandas frame."""
    from bracketz.testbed.frames import load as load_frames

    return load_frames(path)


__all__ = ["load"]
