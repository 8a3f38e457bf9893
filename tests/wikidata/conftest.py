"""Dumps of given bytes."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes the file `dump`; returns its path."""

    def written(data, name="dump"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return written
