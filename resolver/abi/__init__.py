"""ABI facts read from the bytes of wheels."""
