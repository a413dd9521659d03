"""Realistic silent bugs, each a small patch on the real code.

Every mutant still imports and runs, and gives numbers of a plausible size. ``old`` is text that occurs
exactly once in its file, so a patch either lands where it was meant to or fails loudly.
"""

import dataclasses
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Mutant:
    name: str
    bug: str  # what a tired programmer did
    file: str  # relative to src/bracketz
    old: str
    new: str
    models: tuple[str, ...]  # shipped models on which it shows; one is enough


def apply(mutant: Mutant, package: Path) -> None:
    """Patch a copy of the package (the folder that holds ``kernel.py``) in place."""
    target = Path(package) / mutant.file
    text = target.read_text(encoding="utf-8")
    count = text.count(mutant.old)
    if count != 1:
        raise ValueError(f"mutant {mutant.name}: its text occurs {count} times in {mutant.file}, not once")
    target.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")


_CLUSTERING = (
    Mutant(
        "clustering-center-variance-as-deviation",
        "The centres are drawn with their variance as the standard deviation.",
        "models/clustering.py",
        "scale = jnp.sqrt(self.center_variance)",
        "scale = self.center_variance",
        ("clustering",),
    ),
    Mutant(
        "clustering-precision-missing-power",
        "The precision of a cluster with the point in it adds 1/variance whatever the point's power.",
        "models/clustering.py",
        "lam_with = lam + row.c",
        "lam_with = lam + 1 / self.model.noise_variance",
        ("clustering",),
    ),
    Mutant(
        "clustering-point-not-removed-from-product",
        "The product of a cluster's sum with the point still holds the point itself.",
        "models/clustering.py",
        "dots - w * row.square,",
        "dots,",
        ("clustering",),
    ),
    Mutant(
        "clustering-precision-never-decremented",
        "A removed point's precision is not taken out of its cluster, so it is counted again at each visit.",
        "models/clustering.py",
        "cache.precision - w,",
        "cache.precision,",
        ("clustering",),
    ),
    Mutant(
        "clustering-stale-sum",
        "The cluster a point leaves keeps the point in its sum.",
        "models/clustering.py",
        "(w - cache.removed)[:, None] * row.y",
        "w[:, None] * row.y",
        ("clustering",),
    ),
    Mutant(
        "clustering-determinant-of-one-column",
        "The log-determinant term of the conditional counts one column and not all D.",
        "models/clustering.py",
        "- 0.5 * d * jnp.log(lam_with / lam)",
        "- 0.5 * jnp.log(lam_with / lam)",
        ("clustering",),
    ),
    Mutant(
        "clustering-square-missing-power",
        "In |S + c y|^2 the last term has c once and not squared.",
        "models/clustering.py",
        "row.c * (2 * cache.dots + row.c * row.square)",
        "row.c * (2 * cache.dots + row.square)",
        ("clustering",),
    ),
    Mutant(
        "clustering-dropped-center-prior-constant",
        "The collapsed density leaves out the normaliser of the centres' prior, thought to cancel.",
        "models/clustering.py",
        "jnp.log(self.center_variance * stats.precision)",
        "jnp.log(stats.precision)",
        ("clustering",),
    ),
    Mutant(
        "clustering-predictive-without-square",
        "The predictive density's constant was copied from the binary model, where |y|^2 is already in.",
        "models/clustering.py",
        "row_log_constant(row.y, powers[i], self.noise_variance)",
        "row_log_constant(jnp.zeros_like(row.y), powers[i], self.noise_variance)",
        ("clustering",),
    ),
    Mutant(
        "clustering-joint-deviation-for-variance",
        "The uncollapsed density is given the centres' standard deviation where it wants the variance.",
        "models/clustering.py",
        "normal_log_density(centers, 0.0, self.center_variance)",
        "normal_log_density(centers, 0.0, jnp.sqrt(self.center_variance))",
        ("clustering",),
    ),
    Mutant(
        "clustering-variance-as-precision",
        "The statistics add the centres' prior variance where its inverse belongs, in kernel and density alike.",
        "models/clustering.py",
        "1 / self.center_variance + jnp.sum(weights, axis=0)",
        "self.center_variance + jnp.sum(weights, axis=0)",
        ("clustering",),
    ),
)

_LOW_RANK = (
    Mutant(
        "low-rank-simulate-variance-as-deviation",
        "Data are simulated with the noise variance as the standard deviation.",
        "models/low_rank.py",
        "mean = parameters.left @ state.right\n        return mean + jnp.sqrt(self.noise_variance)",
        "mean = parameters.left @ state.right\n        return mean + self.noise_variance",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-joint-without-left-prior",
        "The uncollapsed density leaves out the prior of U.",
        "models/low_rank.py",
        "normal_log_density(parameters.left, 0.0, self.left_variance)\n            + normal_log_density(state",
        "normal_log_density(state",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-right-precision-missing-power",
        "The precision of V given U takes every row at full power.",
        "models/low_rank.py",
        "left.T @ weighted",
        "left.T @ left / self.model.noise_variance",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-left-variance-as-deviation",
        "U given V is drawn with its variance as the standard deviation.",
        "models/low_rank.py",
        "noise / jnp.sqrt(self.precision)",
        "noise / self.precision",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-eigenvalues-out-of-order",
        "The eigenvalues are put largest first and the eigenvectors are not.",
        "models/low_rank.py",
        "jnp.maximum(values, 0.0)",
        "jnp.maximum(values[::-1], 0.0)",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-projection-missing-power",
        "In the quadratic term of the density c stands outside the square, once and not twice.",
        "models/low_rank.py",
        "(c[:, None] * basis.projected) ** 2",
        "c[:, None] * basis.projected ** 2",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-determinant-without-half",
        "The log-determinant of the density lacks its factor one half.",
        "models/low_rank.py",
        "- 0.5 * jnp.sum(jnp.log(self.left_variance * precision))",
        "- jnp.sum(jnp.log(self.left_variance * precision))",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-row-prior-without-two-pi",
        "The prior of a row's latent is not normalised: the 2 pi is missing.",
        "models/low_rank.py",
        "jnp.log(2 * jnp.pi * self.left_variance)",
        "jnp.log(self.left_variance)",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-row-precision-missing-power",
        "The precision of a row's latent has the likelihood at full power: right at 1, wrong below.",
        "models/low_rank.py",
        "c * fixed @ fixed.T",
        "fixed @ fixed.T / self.noise_variance",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-left-mass-inverted",
        "The normaliser of U given V multiplies by the precision where it should divide.",
        "models/low_rank.py",
        "jnp.log(2 * jnp.pi / self.precision)",
        "jnp.log(2 * jnp.pi * self.precision)",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-noise-reused-between-blocks",
        "V is drawn with the noise that has just drawn U.",
        "models/low_rank.py",
        "from_noise(noise[n:].T)",
        "from_noise(noise[:d].T)",
        ("low-rank",),
    ),
)

_BINARY = (
    Mutant(
        "binary-prior-draw-inverted",
        "A prior draw turns a bit on with the probability of off.",
        "models/binary_attributes.py",
        "(u < self.attribute_probability)",
        "(u > self.attribute_probability)",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-log-probability-for-log-odds",
        "The prior's log-odds are log p, with log(1 - p) forgotten.",
        "models/binary_attributes.py",
        "jnp.log(p) - jnp.log1p(-p)",
        "jnp.log(p)",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-prior-constant-of-one-row",
        "The prior's constant is added for one row and not for all N.",
        "models/binary_attributes.py",
        "z.shape[0] * log_off",
        "log_off",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-determinant-of-the-factor",
        "The density takes the log-determinant of the Cholesky factor for that of the matrix.",
        "models/binary_attributes.py",
        "log_det = 2 * jnp.sum(",
        "log_det = jnp.sum(",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-precision-missing-power",
        "The features' precision takes every row at full power.",
        "models/binary_attributes.py",
        "z.T @ weighted",
        "z.T @ z / self.noise_variance",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-rank-one-mean-sign",
        "The rank-one update moves the features' mean the wrong way.",
        "models/binary_attributes.py",
        "mean + a * g[:, None] * r",
        "mean - a * g[:, None] * r",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-rank-one-gram-factor",
        "The last term of the Gram matrix's rank-one update has a where a squared belongs.",
        "models/binary_attributes.py",
        "(a * a * (r @ r)) * gg",
        "(a * (r @ r)) * gg",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-stale-covariance",
        "The rank-one update leaves the features' covariance as it was.",
        "models/binary_attributes.py",
        "cov - a * gg",
        "cov",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-predictive-square-twice",
        "The predictive density counts |y|^2 twice: in the row weight and in the constant.",
        "models/binary_attributes.py",
        "row_log_constant(jnp.zeros_like(row.y), powers[i], self.noise_variance)",
        "row_log_constant(row.y, powers[i], self.noise_variance)",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-predictive-point-not-removed",
        "The predictive density of a row is taken given the row itself.",
        "models/binary_attributes.py",
        "gibbs.remove(gibbs.cache(state.attributes), row, state.attributes[i])",
        "gibbs.cache(state.attributes)",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-row-never-removed",
        "A row is not taken out of the features' posterior before its update, and enters once more after it.",
        "models/binary_attributes.py",
        "return self._add(cache, row, latent, -row.c)",
        "return cache",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-one-uniform-a-row",
        "One uniform a row is drawn and used for all its bits.",
        "models/binary_attributes.py",
        "jax.random.uniform(key, (n, 2 if self.whole_row else k))",
        "jnp.broadcast_to(jax.random.uniform(key, (n, 1)), (n, 2 if self.whole_row else k))",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-last-bit-never-updated",
        "The visit to the last bit of a row does not store what it drew.",
        "models/binary_row.py",
        "bits[k] = new",
        "bits[k] = new if k + 1 < k_bits else old",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-stale-product-between-bits",
        "After a flip the product of the Gram matrix with the bits is not brought up to date.",
        "models/binary_row.py",
        "cov_z, gram_z = cov_z + change * w.covariance[k], gram_z + change * w.gram[k]",
        "cov_z = cov_z + change * w.covariance[k]",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-bits-not-reversed",
        "The reversed scan visits the rows from last to first, but the bits of a row still in order.",
        "models/binary_row.py",
        "range(k_bits)[:: -1 if self.backward else 1]",
        "range(k_bits)",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-distance-not-inflated",
        "The weight of a whole row divides the distance by the noise alone, not by noise and features' variance.",
        "models/binary_row.py",
        "0.5 * self.c * distance / inflation",
        "0.5 * self.c * distance",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-mixed-term-once",
        "In the table of all rows the mixed term of the quadratic form is counted once and not twice.",
        "models/binary_row.py",
        "mixed = 2 * first",
        "mixed = first",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-uniform-reused-within-row",
        "Both halves of a row are drawn with the same uniform.",
        "models/binary_row.py",
        "inverse_cdf(weights[i], u[1])",
        "inverse_cdf(weights[i], u[0])",
        ("binary-attributes",),
    ),
)

_SHARED_BY_MODELS = (
    Mutant(
        "row-constant-without-two",
        "The normaliser of the noise has log(pi s) where log(2 pi s) belongs.",
        "models/base.py",
        "2 * jnp.pi * noise_variance",
        "jnp.pi * noise_variance",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "row-constant-not-tempered",
        "The normaliser of the noise is not raised to the power: right at power 1 alone.",
        "models/base.py",
        "-0.5 * power * (scale + jnp.sum(row * row) / noise_variance)",
        "-0.5 * (scale + power * jnp.sum(row * row) / noise_variance)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "normal-density-normalised-by-variance",
        "The normal density is divided by the variance where the standard deviation belongs.",
        "models/base.py",
        "-0.5 * jnp.log(2 * jnp.pi * variance)",
        "-0.5 * jnp.log(2 * jnp.pi) - jnp.log(variance)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "simulate-reuses-key",
        "Simulating data draws the parameters and the noise from the same key.",
        "models/base.py",
        "self.sample_parameters(key_parameters, state, shape)",
        "self.sample_parameters(key_data, state, shape)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "exact-sample-reuses-key",
        "The simulation behind the exact sample draws state and parameters from the same key.",
        "simulation.py",
        "model.sample_parameters(key_parameters, exact, shape)",
        "model.sample_parameters(key_state, exact, shape)",
        ("low-rank",),
    ),
)

_VARIATIONAL = (
    Mutant(
        "vb-clustering-no-variance-in-distance",
        "The expected distance to a centre is the distance to its mean.",
        "models/variational.py",
        "return square + self.y.shape[1] * q.variances",
        "return square",
        ("clustering",),
    ),
    Mutant(
        "vb-low-rank-covariance-of-one-column",
        "The second moment of V adds the covariance of one column and not of all D.",
        "models/variational.py",
        "q.right @ q.right.T + d * q.right_covariance",
        "q.right @ q.right.T + q.right_covariance",
        ("low-rank",),
    ),
    Mutant(
        "vb-binary-bits-without-variance",
        "The features' update squares the mean bits, as if they had no variance.",
        "models/variational.py",
        "zz = p.T @ p + jnp.diag(jnp.sum(p * (1 - p), axis=0))",
        "zz = p.T @ p",
        ("binary-attributes",),
    ),
    Mutant(
        "vb-binary-bit-among-its-others",
        "A bit's update counts the bit itself among the others.",
        "models/variational.py",
        "others = p @ gram[:, k] - p[:, k] * gram[k, k]",
        "others = p @ gram[:, k]",
        ("binary-attributes",),
    ),
    Mutant(
        "vb-divergence-without-dimension",
        "The Gaussian divergence in the bound leaves out its constant k.",
        "models/variational.py",
        "count * (k + log_det - k * jnp.log(variance))",
        "count * (log_det - k * jnp.log(variance))",
        ("low-rank", "binary-attributes"),
    ),
    Mutant(
        "vb-binary-prior-constant-of-one-row",
        "The bound adds the bits' prior constant for one row and not for all N.",
        "models/variational.py",
        "+ n * log_off",
        "+ log_off",
        ("binary-attributes",),
    ),
    Mutant(
        "vb-relabelings-off-by-one",
        "The symmetry correction takes log (K - 1)! for log K!.",
        "models/variational.py",
        "lgamma(self.model.components + 1)",
        "lgamma(self.model.components)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
)

_MAXIMUM_LIKELIHOOD = (
    Mutant(
        "bic-low-rank-counts-rotations",
        "Rotations of V, which change nothing, are counted as free parameters.",
        "models/maximum_likelihood.py",
        "k * self.y.shape[1] - k * (k - 1) // 2",
        "k * self.y.shape[1]",
        ("low-rank",),
    ),
    Mutant(
        "bic-binary-without-prior",
        "EM sums over the attribute rows without their prior probabilities.",
        "models/maximum_likelihood.py",
        "log_off + bits @ log_odds + constant[:, None]",
        "constant[:, None]",
        ("binary-attributes",),
    ),
    Mutant(
        "bic-low-rank-smallest-eigenvalues",
        "The fit pairs the top eigenvectors with the smallest eigenvalues.",
        "models/maximum_likelihood.py",
        "values[::-1][:top]",
        "values[:top]",
        ("low-rank",),
    ),
    Mutant(
        "bic-clustering-mean-over-all-rows",
        "The M-step divides a cluster's sum by the number of rows and not by the cluster's share.",
        "models/maximum_likelihood.py",
        "(r.T @ self.y) / jnp.maximum(total, 1e-12)[:, None]",
        "(r.T @ self.y) / self.y.shape[0]",
        ("clustering",),
    ),
    Mutant(
        "bic-penalty-counts-entries",
        "The penalty takes the log of the number of entries of y and not of its rows.",
        "estimators/bic.py",
        "jnp.log(self.y.shape[0])",
        "jnp.log(self.y.size)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
)

_CONSTRAINED = (
    Mutant(
        "constrained-likelihood-with-prior",
        "The likelihood that nested sampling climbs still holds the prior.",
        "models/constrained.py",
        "return joint - prior",
        "return joint",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "constrained-clustering-level-not-updated",
        "After a point moves the running likelihood is still that of before.",
        "models/constrained.py",
        "return new, levels[new]",
        "return new, level",
        ("clustering",),
    ),
    Mutant(
        "constrained-clustering-draws-from-posterior",
        "Among the allowed clusters the draw is by posterior and not by prior weight.",
        "models/constrained.py",
        "jnp.where(allowed, self.model.mixture, 0.0)",
        "jnp.where(allowed, jnp.exp(prior + gains - jnp.max(gains)), 0.0)",
        ("clustering",),
    ),
    Mutant(
        "constrained-binary-first-bit-unchecked",
        "The first bit of a row is not held against the cutoff.",
        "models/constrained.py",
        "jnp.where(wish > 0, on, off) > cutoff, wish",
        "(jnp.where(wish > 0, on, off) > cutoff) | (k == 0), wish",
        ("binary-attributes",),
    ),
    Mutant(
        "constrained-low-rank-distance-missing-square",
        "The running distance is updated without the square of the change.",
        "models/constrained.py",
        "total + 2 * change * b + change**2 * a",
        "total + 2 * change * b",
        ("low-rank",),
    ),
    Mutant(
        "constrained-low-rank-interval-not-scaled",
        "The room left under the cutoff is not divided by the quadratic's leading coefficient.",
        "models/constrained.py",
        "jnp.maximum(limit - total, 0.0) / a",
        "jnp.maximum(limit - total, 0.0)",
        ("low-rank",),
    ),
    Mutant(
        "truncated-normal-not-mirrored-back",
        "An interval mirrored to the left half gives a draw that is not mirrored back.",
        "conditional.py",
        "jnp.where(flip, -x, x)",
        "x",
        ("low-rank",),
    ),
    Mutant(
        "truncated-normal-tail",
        "The guard against a cdf of zero is the machine epsilon, which cuts the tail at 8 standard deviations.",
        "conditional.py",
        ".dtype).tiny",
        ".dtype).eps",
        ("low-rank",),
    ),
    Mutant(
        "nested-shell-off-by-one",
        "A shell's volume is taken at the step after it.",
        "estimators/nested.py",
        "self._log_volume(carry.steps) + shell",
        "self._log_volume(carry.steps + 1) + shell",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "nested-shrinkage-counts-one-more",
        "The volume shrinks as if there were one more particle.",
        "estimators/nested.py",
        "return -1 / self.particles",
        "return -1 / (self.particles + 1)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "nested-replaces-the-parent",
        "The moved copy overwrites the particle it was copied from and not the worst one.",
        "estimators/nested.py",
        "a.at[worst].set(v)",
        "a.at[other].set(v)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
)

_CHIB = (
    Mutant(
        "cms-pivot-from-forward-kernel",
        "The pivot is drawn from the kernel itself and not from its reversal.",
        "estimators/chib.py",
        "go_forward = (j >= 1) & (j <= ahead)",
        "go_forward = j <= ahead",
        ("clustering", "low-rank"),
    ),
    Mutant(
        "chib-transition-the-wrong-way",
        "The transition density is taken from the special point to the sample.",
        "estimators/chib.py",
        "forward.log_prob(carry.point, state)",
        "forward.log_prob(state, carry.point)",
        ("clustering", "low-rank"),
    ),
    Mutant(
        "chib-counts-the-point",
        "The average of transition densities is divided by one more than their number.",
        "estimators/chib.py",
        "jnp.log(self.samples)",
        "jnp.log(self.samples + 1)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "low-rank-chain-scores-the-other-order",
        "The transition density on (U, V) conditions each factor on the value the other order would use.",
        "models/scored.py",
        "if self.backward else (new_state.left",
        "if not self.backward else (new_state.left",
        ("low-rank",),
    ),
    Mutant(
        "low-rank-chain-thought-reversible",
        "The chain on (U, V) says it is its own reversal, as the one on V is.",
        "models/scored.py",
        "return dataclasses.replace(self, backward=not self.backward)",
        "return self",
        ("low-rank",),
    ),
)

_KERNELS = (
    Mutant(
        "scan-not-reversed",
        "The reversal of a scan visits the points in the same order as the scan.",
        "kernel.py",
        "reverse=self.backward",
        "reverse=False",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "scan-puts-the-old-value-back",
        "After its update a point goes back into the cache with the value it had before.",
        "kernel.py",
        "self.insert(cache, row, new)",
        "self.insert(cache, row, latent)",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "scan-scores-unnormalised",
        "The transition density adds up conditionals that were never normalised.",
        "kernel.py",
        "(value, log_prob(conditional, value))",
        "(value, conditional.log_density(value))",
        ("clustering",),
    ),
    Mutant(
        "repeat-reuses-key",
        "Repeated sweeps all use the same key.",
        "kernel.py",
        "self.kernel.step(jax.random.fold_in(key, s), state)",
        "self.kernel.step(key, state)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "repeat-not-reversed",
        "The reversal of a repeated kernel repeats the kernel and not its reversal.",
        "kernel.py",
        "Repeat(self.kernel.reversed(), self.times)",
        "Repeat(self.kernel, self.times)",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "inverse-cdf-off-by-one",
        "The inverse cdf leaves the first category out of its count, so every index is one too low.",
        "conditional.py",
        "jnp.sum(cumulative <= u * cumulative[-1])",
        "jnp.sum(cumulative[1:] <= u * cumulative[-1])",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "gaussian-draw-without-transpose",
        "A Gaussian draw solves with the Cholesky factor twice and never with its transpose.",
        "conditional.py",
        'self._whitened_shift() + noise, lower=True, trans="T"',
        "self._whitened_shift() + noise, lower=True",
        ("low-rank",),
    ),
    Mutant(
        "gaussian-mass-half-determinant",
        "The mass of a Gaussian takes half the log-determinant of the factor, as if it were the matrix's.",
        "conditional.py",
        "- columns * log_det",
        "- 0.5 * columns * log_det",
        ("low-rank",),
    ),
    Mutant(
        "gaussian-density-factor-not-transposed",
        "The quadratic form of a Gaussian is |L x|^2 and not |L^T x|^2.",
        "conditional.py",
        "(self.cholesky.T @ value) ** 2",
        "(self.cholesky @ value) ** 2",
        ("low-rank",),
    ),
    Mutant(
        "box-muller-missing-two",
        "The radius of the normal pair is sqrt(-log u), without the 2.",
        "noise.py",
        "jnp.sqrt(-2 * jnp.log1p(-u[0]))",
        "jnp.sqrt(-jnp.log1p(-u[0]))",
        ("low-rank",),
    ),
    Mutant(
        "box-muller-one-uniform",
        "Radius and angle of the normal pair come from the same uniform.",
        "noise.py",
        "quarters = 4 * u[1]",
        "quarters = 4 * u[0]",
        ("low-rank",),
    ),
)

_ENGINE = (
    Mutant(
        "schedule-starts-above-zero",
        "The sigmoid schedule is scaled to end at 1 but not shifted to start at 0.",
        "path.py",
        "(sigmoid(t + 1) - sigmoid(1.0)) / (sigmoid(total) - sigmoid(1.0))",
        "sigmoid(t + 1) / sigmoid(total)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "schedule-stops-short-of-one",
        "The linear schedule divides by the number of distributions and not of edges, so it never reaches 1.",
        "path.py",
        "return t / last",
        "return t / (last + 1)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "prefix-off-by-one",
        "Row t of the prefix path has t + 1 points in it.",
        "path.py",
        "(rank < t)",
        "(rank <= t)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "extend-draws-from-prior",
        "An entering point is weighted by its predictive density but its latent is drawn from the prior.",
        "path.py",
        "after.sample(key)), after.log_normalizer",
        "before.sample(key)), after.log_normalizer",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "retract-weighs-a-prior-draw",
        "Under the prior proposal a leaving point is weighted at a latent drawn from its prior.",
        "path.py",
        "latent = after.sample(key)",
        "latent = before.sample(key)",
        ("clustering", "binary-attributes"),
    ),
    Mutant(
        "weight-after-move",
        "The forward run moves first and takes the weight of the moved state.",
        "anneal.py",
        """\
        # Weight before moving: the states still follow f_{t-1}.
        states, increments = jax.vmap(cross)(jax.random.split(key_cross, self.particles), carry.states)
        carry = Particles(states, carry.log_weights + increments)
        if self.particles > 1:
            carry = self.resampling(key_resample, carry)
        kernel = Repeat(self.model.kernel(self.y, self.path.powers(t, self.y.shape[0])), self.sweeps)
        moved = jax.vmap(kernel.step)(jax.random.split(key_move, self.particles), carry.states)
        return Particles(moved, carry.log_weights)
""",
        """\
        kernel = Repeat(self.model.kernel(self.y, self.path.powers(t, self.y.shape[0])), self.sweeps)
        moved = jax.vmap(kernel.step)(jax.random.split(key_move, self.particles), carry.states)
        states, increments = jax.vmap(cross)(jax.random.split(key_cross, self.particles), moved)
        carry = Particles(states, carry.log_weights + increments)
        if self.particles > 1:
            carry = self.resampling(key_resample, carry)
        return carry
""",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "resampling-keeps-weights",
        "Resampled particles keep the weights of the places they landed in.",
        "anneal.py",
        "jnp.full(p, logmeanexp(log_weights)),",
        "log_weights,",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "reverse-weight-sign",
        "The reverse run adds the increments it should subtract.",
        "anneal.py",
        "carry.log_weights - increments",
        "carry.log_weights + increments",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "particles-share-their-moves",
        "All particles of a run move with the same key, so copies never part again.",
        "anneal.py",
        "jax.vmap(kernel.step)(jax.random.split(key_move, self.particles), carry.states)",
        "jax.vmap(lambda state: kernel.step(key_move, state))(carry.states)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "mean-weight-is-a-sum",
        "The mean of the weights is their sum.",
        "weights.py",
        "jax.nn.logsumexp(log_weights, axis=axis) - jnp.log(log_weights.shape[axis])",
        "jax.nn.logsumexp(log_weights, axis=axis)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "resampling-weights-not-normalised",
        "Resampling takes quantiles of weights that do not sum to 1.",
        "weights.py",
        "quantiles * cumulative[-1]",
        "quantiles",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "bennett-sign",
        "The acceptance ratio's equation has the probability of forward where that of reverse belongs.",
        "weights.py",
        "_sigmoid(pooled - log_z - offset).sum()",
        "_sigmoid(log_z - pooled + offset).sum()",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "arithmetic-and-harmonic-swapped",
        "Trials are combined by the harmonic mean where the arithmetic belongs, and the other way round.",
        "answer.py",
        "1.0 if self is Combine.ARITHMETIC else -1.0",
        "1.0 if self is Combine.HARMONIC else -1.0",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "certificate-one-sided",
        "Each side of the certificate may fail with the whole probability and not with half.",
        "answer.py",
        "math.log(2 / ((1 - confidence) * spent))",
        "math.log(1 / ((1 - confidence) * spent))",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "certificate-margin-inwards",
        "The lower end of the certificate is moved up by the margin.",
        "answer.py",
        "lower - margin, upper + margin",
        "lower + margin, upper + margin",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "chains-share-a-key",
        "All chains of a run use the same key.",
        "loop.py",
        "jax.random.fold_in(key, chain)",
        "key",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "steps-share-a-key",
        "All steps of a chain use the same key.",
        "loop.py",
        "program.step(jax.random.fold_in(key, index + 1), chain, index)",
        "program.step(key, chain, index)",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "likelihood-weighting-counts-padding",
        "The draws that fill up the last batch are summed but not counted.",
        "estimators/likelihood_weighting.py",
        "jnp.where(wanted, log_weights, -jnp.inf)",
        "log_weights",
        ("clustering", "low-rank", "binary-attributes"),
    ),
    Mutant(
        "harmonic-mean-counts-burn-in",
        "The states of the burn-in are averaged too.",
        "estimators/harmonic_mean.py",
        "jnp.where(index < self.burn_in, -jnp.inf, increment)",
        "increment",
        ("clustering", "low-rank", "binary-attributes"),
    ),
)

#: These do nothing where a variance is 1 or all components are alike, as in the models' defaults.
_OFF_DEFAULT = (
    Mutant(
        "clustering-mixture-not-logged",
        "The conditional adds the mixture's probabilities and not their logs.",
        "models/clustering.py",
        "jnp.log(self.model.mixture)\n            - 0.5",
        "self.model.mixture\n            - 0.5",
        ("clustering",),
    ),
    Mutant(
        "low-rank-right-variance-as-deviation",
        "V is drawn from its prior with the variance as the standard deviation.",
        "models/low_rank.py",
        "scale = jnp.sqrt(self.right_variance)",
        "scale = self.right_variance",
        ("low-rank",),
    ),
    Mutant(
        "binary-variance-as-precision",
        "The features' prior variance stands where its inverse belongs, in kernel and density alike.",
        "models/binary_attributes.py",
        "jnp.eye(self.components) / self.feature_variance",
        "jnp.eye(self.components) * self.feature_variance",
        ("binary-attributes",),
    ),
    Mutant(
        "binary-odds-of-the-first-bit",
        "Every bit is updated with the prior odds of the first.",
        "models/binary_row.py",
        "logits[k] = w.log_odds[k]",
        "logits[k] = w.log_odds[0]",
        ("binary-attributes",),
    ),
)

MUTANTS: tuple[Mutant, ...] = (
    *_CLUSTERING,
    *_LOW_RANK,
    *_BINARY,
    *_SHARED_BY_MODELS,
    *_VARIATIONAL,
    *_MAXIMUM_LIKELIHOOD,
    *_CONSTRAINED,
    *_CHIB,
    *_KERNELS,
    *_ENGINE,
    *_OFF_DEFAULT,
)
