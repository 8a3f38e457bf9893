"""Dump files: rendered from the bundled sample as of a date, or derived from a newer dump."""
