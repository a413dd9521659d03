"""The estimators by name, as ``bracketz.estimators`` lists them."""

from bracketz import estimators
from bracketz.estimators.base import Estimator
from bracketz.registry import Registry, classes_of

ESTIMATORS: Registry[type[Estimator]] = Registry(
    "estimator", [cls for cls in classes_of(estimators) if issubclass(cls, Estimator)]
)
