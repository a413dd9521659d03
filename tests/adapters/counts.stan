// Counts with a Gamma prior on their rate: the evidence is a negative multinomial.
data {
  int<lower=0> N;
  array[N] int<lower=0> y;
  vector<lower=0>[N] exposure;
  int<lower=0, upper=1> prior_only;
}
parameters {
  real<lower=0> rate;
}
model {
  rate ~ gamma(2, 0.5);
  if (!prior_only) y ~ poisson(rate * exposure);
}
generated quantities {
  real rate_prior = gamma_rng(2, 0.5);
  array[N] int y_rep = poisson_rng(rate * exposure);
}
