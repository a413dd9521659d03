"""Stan programs as models: ``build`` compiles one, ``library`` calls what came out, ``split`` tells
its prior from its likelihood, ``callback`` lets JAX call and differentiate both, ``model`` is the
model.

The compiler of the language and the headers and libraries it needs come with the ``httpstan``
wheel; ``shim.cpp`` is the door between them and Python. Nothing is downloaded.
"""

from bracketz.adapters.stan.model import StanModel, from_stan

__all__ = ["StanModel", "from_stan"]
