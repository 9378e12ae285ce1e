"""The command line: the one place where parts meet the host."""
