"""pyarrow does not import pandas, and a later import of pandas works."""

import subprocess
import sys

PROGRAM = """
import sys
from factdrift.statements.no_pandas import spare_pandas
hooks = list(sys.meta_path)
spare_pandas()
assert sys.meta_path == hooks
import pyarrow as pa
table = pa.table({"a": pa.array([1, None, 3])})
assert "pandas" not in sys.modules
print(table.to_pandas()["a"].sum())
"""


def test_pandas_is_imported_only_when_asked_for():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert float(done.stdout) == 4
