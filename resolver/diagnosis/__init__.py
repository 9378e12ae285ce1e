"""A pasted message to its cause: what loaders, drivers and Python say, held against evidence."""
