"""Models written elsewhere, each made a ``Factored`` model.

``numpyro`` and ``functions`` are what users call. ``numpyro_program`` runs a NumPyro function with
the value of every site decided by name, ``numpyro_sites`` tells which of its sites are data,
``numpyro_checks`` whether that is a model, and ``translate`` turns what JAX says of a user's
function into a sentence. No probabilistic programming library is imported before it is used.
"""
