"""The loop that runs everything, and what surrounds it."""
