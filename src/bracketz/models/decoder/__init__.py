"""A decoder: a Gaussian latent vector, any JAX function of it, Bernoulli or Gaussian pixels."""

from bracketz.models.decoder.model import Decoder
