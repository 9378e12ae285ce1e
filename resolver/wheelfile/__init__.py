"""Wheels as zip archives behind byte ranges: the directory and members, nothing is downloaded."""
