"""Some two hundred requests and their answers, to see what a change of the code changes."""
