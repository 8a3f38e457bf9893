"""Puts the sections of a build together and writes them as one page that needs no other file."""

import base64
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from factdrift.core.errors import InputError
from factdrift.core.files import write_text
from factdrift.core.manifests import read_manifest, warnings
from factdrift.core.tables import database
from factdrift.pages import environment, meanings, packaged, palette, shown
from factdrift.pages.report import models, world
from factdrift.pages.report.audit import audit
from factdrift.pages.report.blocks import Build, Section
from factdrift.pages.report.context import neighbours, popularity, run_times, templates
from factdrift.pages.report.streams import cutoff, streams
from factdrift.wikidata.ids import is_made_up, page


def write_page(
    build: Build,
    output: Path,
    memory_mb: int = 2000,
    stream: Path | None = None,
    dates: Path | None = None,
) -> None:
    """Writes the page about a build: HTML with its own styles, script and figures, which loads nothing.

    `stream`: the table of a sequence of dates, and `dates` that of the dates of models, if the page is to
    have a section about them.

    Raises InputError if the dataset of the pair has not been built.
    """
    for name in ("manifest.json", "wikifactdiff.parquet", "wikifactdiff.stats.json", "funnel.parquet"):
        if not (build.pair / name).is_file():
            raise InputError(f"{build.pair / name}: no such file; build it with `snakemake --cores all`")
    manifest = read_manifest(build.pair / "manifest.json")
    counted = build.pair / "wikifactdiff.stats.json"
    stats = json.loads(counted.read_text(encoding="utf-8"))
    with database(memory_mb) as db:
        sections = [
            world.updates(build, db),
            world.scenarios(build, db, stats),
            world.time_line(build, db, manifest["dates"]),
            streams(build, db, stream),
            cutoff(build, db, dates),
            world.funnel(build, db),
            popularity(build, db),
            neighbours(build, db),
            templates(build, db),
            models.verbalizations(build),
            models.editing(build),
            models.ripples(build),
            models.klob(build),
            models.tempripple(build),
            audit(build),
            world.origin(build, manifest),
            run_times(build),
        ]
    text = render(
        "page.html",
        [section for section in sections if section is not None],
        dates=manifest["dates"],
        configuration=manifest["configuration"],
        stats=stats["wikifactdiff"],
        replacements=stats["wfd_repl"]["updates"],
        counted=build.source(counted),
        account=build.source(build.pair / "manifest.json"),
        warnings=list(warnings(manifest)),
    )
    write_text(text, output)


def render(template: str, sections: Sequence[Section], **values: Any) -> str:
    """A page as HTML that loads nothing: a template that extends `base.html`, with these sections."""
    script, style = (packaged("report", name) for name in ("page.js", "page.css"))
    made = environment("factdrift.pages.report")
    made.filters["figure"] = figure
    made.globals |= {"meanings": meanings(), "is_made_up": is_made_up, "wikidata": page}
    return made.get_template(template).render(
        **values,
        sections=sections,
        sources=dict.fromkeys(block.source for section in sections for block in section.blocks),
        script=Markup(script),
        style=Markup(palette() + style),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def figure(value: Any, kind: str) -> str:
    """A cell of a table as text, by the kind of its column."""
    if value is None:
        return "–"
    if kind == "text":
        return shown(value)
    if kind == "bytes":
        return f"{value / 1e6:,.1f} MB" if value < 1e9 else f"{value / 1e9:,.1f} GB"
    if kind == "seconds":
        return f"{value:,.1f} s"
    if kind == "interval":
        mean, half = value
        return f"{mean:,.2f}" if half is None else f"{mean:,.2f} ± {half:,.2f}"
    if kind == "share":
        return f"{value:,.2f}"
    return f"{value:,.0f}" if float(value).is_integer() or abs(value) >= 100 else f"{value:,.3g}"
