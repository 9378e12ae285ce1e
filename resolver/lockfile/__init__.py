"""Requirement and lock files: read, written, exported."""
