import os
import subprocess
import sys

import pytest

RUN = """
import os
from factdrift.cli import main
main(["edit", "import", "none.json", "--layout", "zsre", "--output", "none"])
print(os.environ["OMP_WAIT_POLICY"])
"""


@pytest.mark.parametrize(("given", "found"), [({}, "PASSIVE"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "ACTIVE")])
def test_threads_of_every_command_wait_asleep_unless_the_user_says_otherwise(given, found):
    environment = {name: value for name, value in os.environ.items() if name != "OMP_WAIT_POLICY"}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        **{"env": environment | given, "capture_output": True, "text": True, "check": True},
    )
    assert done.stdout.strip() == found
