"""What every job pays at its start: the command line is there before what its commands need is imported."""

import subprocess
import sys

from factdrift.cli import overview, parser

PROGRAM = "import sys, factdrift.cli; factdrift.cli.parser(); print(*sys.modules)"
HEAVY = {
    *("babel", "duckdb", "jinja2", "jsonschema", "numpy", "pandas", "pyarrow", "requests"),
    *("scipy", "sklearn", "torch", "transformers"),
}


def test_the_command_line_imports_nothing_that_takes_long():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "factdrift.evaluation.tools.jobs" in loaded
    assert not loaded & HEAVY


def test_the_list_of_commands_is_the_help_of_all_of_them():
    assert overview().format_help() == parser().format_help() == parser("no command").format_help()
