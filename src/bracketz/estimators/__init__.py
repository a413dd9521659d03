"""One file per estimator. A line here makes one known everywhere: to ``bracketz``, the command line
and the kit.

The order is that of the paper's section "Marginal likelihood estimators", and of every list.
"""
# ruff: isort: skip_file

from bracketz.estimators.bic import BIC
from bracketz.estimators.likelihood_weighting import LikelihoodWeighting
from bracketz.estimators.harmonic_mean import HarmonicMean
from bracketz.estimators.ais import AIS
from bracketz.estimators.reverse_ais import ReverseAIS
from bracketz.estimators.smc import SMC
from bracketz.estimators.shme import SHME
from bracketz.estimators.variational_bayes import VariationalBayes
from bracketz.estimators.variational_bayes import SymmetricVariationalBayes
from bracketz.estimators.chib import Chib
from bracketz.estimators.chib import CMS
from bracketz.estimators.nested import Nested
