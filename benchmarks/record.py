"""A benchmark's findings as a table with machine and date, printed, and kept if a file is named."""

import argparse
import datetime
import os
import platform
from collections.abc import Sequence
from pathlib import Path

HEADING = "# Measurements\n\nAppended by the commands in this folder; each entry names its own.\n"


def add_record(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="Markdown file to which the findings are appended (benchmarks/RESULTS.md)",
    )


def record(
    title: str, header: Sequence[str], rows: Sequence[Sequence[str]], note: str, file: Path | None
) -> None:
    """Prints the table; appends it to the file if there is one."""
    lines = [f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows)]
    text = f"## {title}\n\n{datetime.date.today()}, {machine()}. {note}\n\n" + "\n".join(lines) + "\n"
    print(text)
    if file is not None:
        append(text, file)


def append(text: str, file: Path) -> None:
    """Puts an entry behind those of the file, which is begun if it is not there."""
    before = file.read_text(encoding="utf-8") if file.exists() else HEADING
    file.write_text(f"{before}\n{text}", encoding="utf-8")


def peak() -> float:
    """Megabytes of memory that this process has held at most."""
    for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    raise OSError("/proc/self/status tells no VmHWM")


def machine() -> str:
    """Processor, cores, memory and how busy the machine is."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    load = os.getloadavg()[0]
    return f"{model}, {os.cpu_count()} cores, {memory:.0f} GB, load {load:.1f} from other work"
