"""Models and answers of other libraries: a front end for each.

Every model becomes a ``Factored`` one. No probabilistic programming library is imported before it
is used.
"""
