"""Runners: one module per engine. `README.md` describes their functions and constants."""


class NotOffered(Exception):
    """The engine does not claim to handle this case."""
