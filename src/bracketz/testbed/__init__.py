"""The testbed: experiments that run every estimator against ground truth, survive crashes and end
in pictures.

    frames = bracketz.testbed.read_frames("results.db")    # tidy pandas frames

A spec (TOML, ``spec``) expands to tasks; a runner (``run``) executes them, in this process or on a
Dask cluster, into a SQLite store (``store``); measures and the ledger of claims (``analysis``),
figures and the report (``report``) are computed from the store alone.
"""


def __getattr__(name: str):
    """pandas is imported when somebody asks for it."""
    if name == "read_frames":
        from bracketz.testbed.store.frames import read_frames

        return read_frames
    raise AttributeError(f"module 'bracketz.testbed' has no attribute '{name}'")


__all__ = ["read_frames"]
