"""The command line: words, options and exit codes over the use cases."""
