"""Errors that are reported to the user without a traceback."""


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy."""
