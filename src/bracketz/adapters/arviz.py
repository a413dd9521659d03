"""Answers for ArviZ; the answers' own ``to_arviz`` is the same function."""

from bracketz.interchange.arviz import to_arviz as to_arviz
