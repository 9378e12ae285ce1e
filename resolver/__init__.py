"""abilock: resolves GPU Python environments that really load."""

__version__ = "0.1.0"
