"""Models made of a prior and a likelihood: what users bring.

``model`` says what one is, ``pilot`` tunes its kernels, ``reference`` fits where a path may begin
instead of at the prior, ``prepared`` puts the three together.
"""

from bracketz.models.factored.model import Factored, require_rows
from bracketz.models.factored.prepared import Prepared, piloted

__all__ = ["Factored", "Prepared", "piloted", "require_rows"]
