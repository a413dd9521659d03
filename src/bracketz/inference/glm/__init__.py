"""Certified intervals for generalised linear models on observed data: families, whitening at the
mode, the envelope, tries from it, the interval they lead to, the certificate."""

from bracketz.inference.glm.certificate import GLMCertificate, certify_glm, glm_draws

__all__ = ["GLMCertificate", "certify_glm", "glm_draws"]
