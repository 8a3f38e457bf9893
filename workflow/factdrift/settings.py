"""What the user chose: the configuration, checked and typed. Rules hand single values to the commands."""

from __future__ import annotations


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy."""
