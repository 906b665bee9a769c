"""Weights of networks: what is published, what is on this machine, and whether it is what it should be."""

from lookaway.perception.weights.catalogue import CATALOGUE, Listing
from lookaway.perception.weights.found import WeightFile, Weights, published

__all__ = ["CATALOGUE", "Listing", "WeightFile", "Weights", "published"]
