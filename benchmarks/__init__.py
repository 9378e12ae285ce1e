"""Measurements that anyone can repeat: each figure is a ratio to something run beside it."""
