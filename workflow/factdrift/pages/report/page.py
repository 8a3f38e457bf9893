"""Puts the sections of a build together and writes them as one page that needs no other file."""

import base64
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from factdrift.core.files import write_text
from factdrift.core.manifests import warnings
from factdrift.core.products import no_file
from factdrift.core.tables import database
from factdrift.pages import environment, meanings, packaged, palette, shown
from factdrift.pages.report import context, models, world
from factdrift.pages.report.blocks import Build, Section
from factdrift.pages.report.findings import findings
from factdrift.wikidata.ids import is_made_up, page

SECTIONS = (
    ("updates", "What changed", world.updates),
    ("time", "When it changed", world.time_line),
    ("scenarios", "Scenarios and relations", world.scenarios),
    ("streams", "Many dates", world.streams),
    ("cutoff", "The dates of models", models.cutoff),
    ("funnel", "From statements to updates", world.funnel),
    ("popularity", "Popularity", context.popularity),
    ("neighbours", "Neighbours", context.neighbours),
    ("templates", "Sentences", context.templates),
    ("verbalizations", "Sentences of a chat model", models.verbalizations),
    ("editing", "Editing", models.editing),
    ("ripples", "Ripples", models.ripples),
    ("klob", "KLoB and locating", models.klob),
    ("tempripple", "TempRIPPLE and answering", models.tempripple),
    ("audit", "Audit", models.audit),
    ("origin", "What was built from what", context.origin),
    ("times", "Run times", context.run_times),
)
"""Name and title of each section, and the function of a build and a database that gives its `Parts`."""

OPEN = ("updates", "time", "scenarios")
"""Sections that are shown at once."""


def write_page(build: Build, output: Path) -> None:
    """Writes the page about a build: HTML with its own styles, script and figures, which loads nothing.

    Raises InputError if the dataset of the pair has not been built.
    """
    for name in ("manifest.json", "wikifactdiff.parquet", "wikifactdiff.stats.json", "funnel.parquet"):
        if not (build.pair / name).is_file():
            raise no_file(build.pair / name)
    with database() as db:
        sections = [
            Section(name, title, *parts(build, db), open=name in OPEN) for name, title, parts in SECTIONS
        ]
        sentences = findings(build, db)
    text = render(
        "page.html",
        [section for section in sections if section.blocks],
        dates=build.manifest["dates"],
        configuration=build.manifest["configuration"],
        findings=sentences,
        stats=build.stats["wikifactdiff"],
        replacements=build.stats["wfd_repl"]["updates"],
        counted=build.source(build.pair / "wikifactdiff.stats.json"),
        account=build.source(build.pair / "manifest.json"),
        warnings=list(warnings(build.manifest)),
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
