"""Grosse, Ghahramani and Adams (2015): the specs, and the claims of its Results and Discussion."""
