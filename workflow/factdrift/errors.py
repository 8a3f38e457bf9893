"""Errors that are reported to the user without a traceback."""


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy."""


class CannotEdit(InputError):
    """An editing method cannot edit a model, whatever its hyper-parameters; the message says why.

    A run of several methods skips this one and reports the reason, unless `strict` is configured.
    """


class Unsupported(CannotEdit):
    """No method can edit a model, because it cannot be run here as it would have to be; the message says why.

    A run of several models skips this one, with all of its methods.
    """
