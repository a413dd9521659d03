"""Contracts: what a model, a kernel, a conditional, a path and a result are. Imports
nothing above."""
