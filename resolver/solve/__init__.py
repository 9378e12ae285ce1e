"""The solve: a thin resolvelib provider over ports that the command line wires up."""
