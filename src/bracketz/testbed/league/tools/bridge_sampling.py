"""bridgesampling (R): bridge sampling on NUTS draws, NumPyro's.

R's package takes draws of any sampler and a function for the log posterior; here that function asks
this process, so a problem need not be written in Stan. Four chains of 1000 draws after as many
steps of warm-up are Stan's default, with which its vignettes begin. Its help (bridge_sampler,
Warning) says that evidence needs substantially more draws than estimation: ten times as many. The
error bar is its own approximate coefficient of variation (error_measures). Its warp3 method has
none, so it is not used.
"""

TOOL = "bridgesampling"
FAMILY = "posterior draws"
PACKAGES = ["numpyro", "jax"]
LOCK = "numpyro.txt"
SETTINGS = {
    "default": {"chains": 4, "draws": 1000, "warmup": 1000},
    "accurate": {"chains": 4, "draws": 10_000, "warmup": 1000},
}
#: R's side: reads draws (an array of doubles), asks for the log posterior of a point on standard
#: output, reads it from standard input, and leaves value, error and warnings in a file.
SCRIPT = """
suppressPackageStartupMessages(library(bridgesampling))
given <- commandArgs(TRUE)
size <- as.integer(given[2:4])  # dimension, draws, chains
set.seed(as.integer(given[5]))
asking <- file("/dev/stdout", "wb", raw = TRUE)
told <- file("stdin", "rb")
sink(stderr())
density <- function(row, data) {
  writeBin(as.double(row), asking)
  flush(asking)
  readBin(told, "double")
}
draws <- array(readBin(file.path(given[1], "draws"), "double", prod(size)), size)
names <- paste0("x", seq_len(size[1]))
chains <- coda::mcmc.list(lapply(seq_len(size[3]), function(k) {
  coda::mcmc(matrix(t(draws[, , k]), ncol = size[1], dimnames = list(NULL, names)))
}))
warned <- character()
found <- withCallingHandlers(
  bridge_sampler(chains, density, data = NULL, silent = TRUE,
                 lb = setNames(rep(-Inf, size[1]), names),
                 ub = setNames(rep(Inf, size[1]), names)),
  warning = function(w) {
    warned <<- c(warned, conditionMessage(w))
    invokeRestart("muffleWarning")
  })
spread <- error_measures(found)$cv
writeLines(c(format(found$logml, digits = 17), format(spread, digits = 17),
             format(packageVersion("bridgesampling")), R.version$version.string,
             gsub("\\n", " ", unique(warned))),
           file.path(given[1], "answer"))
"""


def missing():
    """What is not on this machine."""
    import shutil
    import subprocess

    if shutil.which("Rscript"):
        there = ["Rscript", "-e", "stopifnot(requireNamespace('bridgesampling', quietly = TRUE))"]
        if subprocess.run(there, capture_output=True, check=False).returncode == 0:
            return None
    return "not installed: apt-get install --no-install-recommends r-cran-bridgesampling"


def load():
    import numpyro  # noqa: F401


def run(problem, settings, seed):
    import jax
    import numpy as np
    from numpyro.infer import MCMC, NUTS

    if (sentence := missing()) is not None:
        raise RuntimeError(sentence)

    def potential(theta):
        return -(problem.jax.log_prior(theta) + problem.jax.log_likelihood(theta))

    key, key_begin = jax.random.split(jax.random.PRNGKey(seed))
    begin = jax.vmap(problem.jax.sample_prior)(jax.random.split(key_begin, settings["chains"]))
    sampler = MCMC(
        NUTS(potential_fn=potential),
        num_warmup=settings["warmup"],
        num_samples=settings["draws"],
        num_chains=settings["chains"],
        chain_method="vectorized",
        progress_bar=False,
    )
    sampler.run(key, init_params=begin, extra_fields=("num_steps",))
    draws = np.asarray(sampler.get_samples(group_by_chain=True), dtype="<f8")
    found = _bridge(problem, draws, seed)
    # One call of the likelihood for each gradient after the warm-up, and those of R.
    found["calls"] = int(np.sum(sampler.get_extra_fields()["num_steps"])) + problem.calls
    return found


def _bridge(problem, draws, seed):
    """What R finds from draws (chains, draws, D), asking this process for densities."""
    import subprocess
    import tempfile
    from pathlib import Path

    import numpy as np

    chains, count, size = draws.shape
    with tempfile.TemporaryDirectory() as folder:
        draws.tofile(Path(folder) / "draws")
        told = [folder, size, count, chains, seed % 2**31]
        script = Path(folder) / "bridge.R"
        script.write_text(SCRIPT)
        said = Path(folder) / "said"
        with (
            open(said, "wb") as file,
            subprocess.Popen(
                ["Rscript", "--vanilla", str(script), *map(str, told)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                bufsize=0,
            ) as process,
        ):
            while point := _exactly(process.stdout, 8 * size):
                theta = np.frombuffer(point)
                value = problem.log_prior(theta) + problem.log_likelihood(theta)
                process.stdin.write(np.float64(value).tobytes())
        answer = Path(folder) / "answer"
        if not answer.is_file():
            raise RuntimeError(f"R: {' '.join(said.read_text(errors='replace').split())}")
        value, error, version, r_version, *warned = answer.read_text().splitlines()
    return {
        "log_z": float(value),
        "error": float(error),
        "kind": "error bar",
        "warnings": warned,
        "versions": {"bridgesampling": version, "R": r_version},
    }


def _exactly(stream, count):
    """So many bytes, or none at the stream's end."""
    found = b""
    while len(found) < count and (more := stream.read(count - len(found))):
        found += more
    return found if len(found) == count else b""
