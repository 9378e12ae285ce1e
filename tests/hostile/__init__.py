"""Hostile inputs: every kind of damage, at every place that a command reads from.

``python -m tests.hostile`` runs the whole matrix and prints it: a row a fault, a column a command.
"""
