"""Binary attributes: Y = Z A + noise, with K on/off attributes per row."""

from bracketz.models.binary_attributes.inferred import InferredBinaryAttributes
from bracketz.models.binary_attributes.model import BinaryAttributes
from bracketz.models.binary_attributes.state import BinaryState, Features

__all__ = ["BinaryAttributes", "BinaryState", "Features", "InferredBinaryAttributes"]
