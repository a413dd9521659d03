// A mean with normal data, beside parameters of every shape that the data say nothing about.
data {
  int<lower=1> N;
  vector[N] y;
  int<lower=0, upper=1> prior_only;
  int<lower=0, upper=1> prior_looks_at_data;
  int<lower=0, upper=1> rejects;
}
parameters {
  real mu;
  real<lower=-1, upper=3> level;
  matrix[2, 3] table;
  array[2] vector[3] rows;
  simplex[4] shares;
}
model {
  mu ~ normal(prior_looks_at_data ? mean(y) : 1, 2);
  level ~ uniform(-1, 3);
  to_vector(table) ~ normal(0, 1);
  for (i in 1:2) rows[i] ~ normal(i, 0.5);
  shares ~ dirichlet([1, 2, 3, 4]');
  if (!prior_only) {
    if (rejects && mu > 0) reject("mu is positive");
    y ~ normal(mu, 0.7);
  }
}
generated quantities {
  vector[N] y_sim;
  for (i in 1:N) y_sim[i] = normal_rng(mu, 0.7);
  real mu_prior = normal_rng(1, 2);
  real level_prior = uniform_rng(-1, 3);
  matrix[2, 3] table_prior;
  array[2] vector[3] rows_prior;
  for (i in 1:2) for (j in 1:3) {
    table_prior[i, j] = normal_rng(0, 1);
    rows_prior[i][j] = normal_rng(i, 0.5);
  }
  vector[4] shares_prior = dirichlet_rng([1, 2, 3, 4]');
}
