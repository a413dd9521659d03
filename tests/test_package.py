"""What importing bracketz does and does not do."""

import subprocess
import sys
import textwrap

import pytest


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_core_needs_jax_and_numpy_alone():
    out = run(
        """
        import sys

        class Refuse:
            def find_spec(self, name, path=None, target=None):
                refused = "typer click rich matplotlib pandas pyarrow plotly distributed dask numba"
                if name.split(".")[0] in refused.split():
                    raise ImportError(f"{name} must not be needed")

        sys.meta_path.insert(0, Refuse())
        import bracketz
        for name in bracketz.__all__:
            getattr(bracketz, name)
        model = bracketz.Clustering(components=2)
        data = bracketz.simulate(model, 6, 2, seed=1)
        print(bracketz.sandwich(model, data, chains=4, gap=5.0).converged)
        """
    )
    assert out.strip() == "True"


@pytest.mark.slow
def test_importing_and_running_change_no_global_precision():
    out = run(
        """
        import jax, jax.numpy as jnp
        before = dict(jax.config.values)
        import bracketz
        for name in bracketz.__all__:
            getattr(bracketz, name)
        assert dict(jax.config.values) == before
        model = bracketz.Clustering(components=2)
        data = bracketz.simulate(model, 6, 2, seed=1)
        answer = bracketz.estimate(model, data, bracketz.AIS(distributions=9), trials=2)
        assert not jax.config.jax_enable_x64 and jnp.ones(1).dtype == jnp.float32
        assert data.y.dtype == "float64" and answer.log_ml != float("%.7g" % answer.log_ml)
        print(len(jax.devices()) == len(__import__("os").sched_getaffinity(0)))
        """
    )
    assert out.strip() == "True"


@pytest.mark.slow
def test_a_users_choice_of_devices_stands():
    out = run(
        """
        import jax
        jax.config.update("jax_num_cpu_devices", 1)
        import bracketz
        bracketz.simulate(bracketz.Clustering(components=2), 3, 2)
        print(len(jax.devices()))
        """
    )
    assert out.strip() == "1"


@pytest.mark.slow
def test_batched_linear_algebra_does_not_deadlock():
    """Hundreds of small eigendecompositions on every device at once: hung before the pool outgrew
    them."""
    out = run(
        """
        import faulthandler
        faulthandler.dump_traceback_later(100, exit=True)
        import bracketz as bz
        model = bz.LowRank()
        data = bz.simulate(model, seed=0)
        for seed in range(5):
            bz.estimate(model, data, bz.LikelihoodWeighting(proposals=2560), trials=25, seed=seed)
        print("done")
        """
    )
    assert out.strip() == "done"


def test_help_does_not_import_jax():
    out = run(
        """
        import sys
        sys.argv = ["bracketz", "--help"]
        from bracketz.cli import main
        try:
            main()
        except SystemExit as stop:
            assert stop.code == 0
        print("jax" in sys.modules)
        """
    )
    assert out.strip().endswith("False")
