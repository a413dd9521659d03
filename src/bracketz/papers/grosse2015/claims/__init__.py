"""Every quantitative or ordering claim of the paper's Results and Discussion, as data with a query
each, in its order."""

from bracketz.papers.grosse2015.claims import accuracy, clustering, others
from bracketz.papers.grosse2015.claims.queries import CLAIMS

__all__ = ["CLAIMS"]
