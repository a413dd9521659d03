"""A log-Gaussian Cox process: points in the plane whose intensity is a random field."""

from bracketz.models.cox.model import CoxProcess
