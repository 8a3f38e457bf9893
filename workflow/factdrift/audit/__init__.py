"""Checks of finished datasets against the dumps, by code of its own: no reader, filter or rule is shared."""
