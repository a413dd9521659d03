"""Logistic regression with an effect for each of many groups."""

from bracketz.models.grouped_logistic.model import GroupedLogistic
