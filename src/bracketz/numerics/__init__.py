"""Numerical building blocks: conditionals, conjugate updates, small factors, a logarithm, random
numbers."""
