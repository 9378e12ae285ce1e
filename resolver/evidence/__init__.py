"""Bytes applied to a target: what wheels and installed files need, and which torch serves them."""
