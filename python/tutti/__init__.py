"""Tutti: training on many processors at once.

The parts are modules of their own, imported when they are needed; each says what it is for.
"""

__version__ = "0.1.0"
