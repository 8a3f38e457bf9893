"""The environment variables of a run's jobs."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def prepare(contact: str) -> None:
    """Sets PATH and FACTDRIFT_CONTACT in this process, from which all jobs inherit them.

    Jobs find the programs beside the running Python, and downloads the contact. As variables of the
    environment they are never parsed by a shell, whatever characters they contain.
    """
    programs = str(Path(sys.executable).parent)
    os.environ["PATH"] = os.pathsep.join([programs, os.environ.get("PATH", os.defpath)])
    if contact:
        os.environ["FACTDRIFT_CONTACT"] = contact
