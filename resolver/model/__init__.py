"""Frozen values that every other part speaks in; stdlib and ``packaging`` only."""
