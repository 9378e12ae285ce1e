"""Locks and what they are exported to."""
