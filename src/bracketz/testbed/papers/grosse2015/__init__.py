"""Grosse, Ghahramani and Adams (2015): the specs, its claims, and the numbers it prints."""
