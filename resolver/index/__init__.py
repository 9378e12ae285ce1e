"""Channels: every place wheels come from, as listings of artifacts."""
