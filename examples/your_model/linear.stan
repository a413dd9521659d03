// Linear regression with unknown noise.
data {
  int<lower=1> N;
  int<lower=1> K;
  matrix[N, K] x;
  vector[N] y;
  int<lower=0, upper=1> prior_only;  // bracketz sets it, to tell prior and likelihood apart
}
parameters {
  vector[K] beta;
  real<lower=0> sigma;
}
model {
  beta ~ normal(0, 1);
  sigma ~ normal(0, 2) T[0, ];  // T divides by the mass above 0: a prior integrates to 1
  if (!prior_only) y ~ normal(x * beta, sigma);
}
generated quantities {
  // Exact draws from the prior, by name, and data from the likelihood.
  vector[K] beta_prior = to_vector(normal_rng(rep_vector(0, K), 1));
  real sigma_prior = abs(normal_rng(0, 2));
  vector[N] y_rep = to_vector(normal_rng(x * beta, sigma));
}
