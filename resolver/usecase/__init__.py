"""One module a use case: what commands and the Python API do, from values to values."""
