"""Errors that are reported to the user without a traceback."""

from factdrift.core.redaction import redacted


class InputError(Exception):
    """Something that the user gave cannot be used; the message names the file, line or key and the remedy.

    Passwords and signatures of addresses in the message are replaced.
    """

    def __init__(self, message: str) -> None:
        super().__init__(redacted(message))


class CannotEdit(InputError):
    """An editing method cannot edit a model, whatever its hyper-parameters; the message says why.

    A run of several methods skips this one and reports the reason, unless `strict` is configured.
    """


class DamagedDump(InputError):
    """A dump cannot be used: it is cut or corrupt, not the published file, or has too many bad lines.

    Commands print it behind `DAMAGED`, by which `factdrift refresh` finds it in the log of a job.
    """


DAMAGED = "damaged dump: "


class Unsupported(CannotEdit):
    """No method can edit a model, because it cannot be run here as it would have to be; the message says why.

    A run of several models skips this one, with all of its methods.
    """
