"""Answers in the formats of other libraries, which are imported when asked for."""
