// Effects of coaching in eight schools, whose spread is unknown (Rubin 1981), non-centred.
data {
  int<lower=1> J;
  vector[J] y;
  vector<lower=0>[J] sigma;
  int<lower=0, upper=1> prior_only;
}
parameters {
  real mu;
  real<lower=0> tau;
  vector[J] z;
}
transformed parameters {
  vector[J] theta = mu + tau * z;
}
model {
  mu ~ normal(0, 5);
  tau ~ cauchy(0, 5) T[0, ];
  z ~ normal(0, 1);
  if (!prior_only) y ~ normal(theta, sigma);
}
generated quantities {
  real mu_prior = normal_rng(0, 5);
  real tau_prior = abs(cauchy_rng(0, 5));
  vector[J] z_prior = to_vector(normal_rng(rep_vector(0, J), 1));
  vector[J] y_rep = to_vector(normal_rng(theta, sigma));
}
