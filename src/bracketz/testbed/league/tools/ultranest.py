"""UltraNest, reactive nested sampling (MLFriends; with a slice sampler in high dimensions).

Its error bar (logzerr) includes bootstraps over live points. Its reference (run): dlogz is the
target evidence uncertainty, 0.5 by default; the second setting asks for a fifth of it. Its
documentation advises a step sampler in high dimensions, here with 2 D steps.
"""

TOOL = "ultranest"
FAMILY = "nested sampling"
PACKAGES = ["ultranest"]
LOCK = "ultranest.txt"
SETTINGS = {"default": {}, "accurate": {"steps_per_dimension": 2, "dlogz": 0.1}}


def load():
    import ultranest.stepsampler  # noqa: F401


def run(problem, settings, seed):
    import numpy as np
    import ultranest
    import ultranest.stepsampler as steps

    np.random.seed(seed % 2**32)
    sampler = ultranest.ReactiveNestedSampler(
        [f"x{k}" for k in range(problem.dimension)],
        problem.log_likelihood,
        problem.prior_transform,
        vectorized=True,
    )
    per_dimension = settings.pop("steps_per_dimension", None)
    if per_dimension is not None:
        sampler.stepsampler = steps.SliceSampler(
            nsteps=per_dimension * problem.dimension,
            generate_direction=steps.generate_mixture_random_direction,
        )
    found = sampler.run(show_status=False, viz_callback=False, **settings)
    return {
        "log_z": float(found["logz"]),
        "error": float(found["logzerr"]),
        "kind": "error bar",
        "calls": int(found["ncall"]),
    }
