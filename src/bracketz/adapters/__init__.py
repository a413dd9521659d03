"""Front ends: models written elsewhere as bracketz models.

One module (or package) each, so that a front end needs its own library alone: ``numpyro``,
``pymc``, ``stan``, and ``functions`` for models made of plain functions. Nothing here imports a
probabilistic programming language until it is asked to.
"""
