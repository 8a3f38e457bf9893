"""The table of all updates: its columns as SQL and as pandas, so that a filter of the page can be copied."""

import json

from factdrift.pages import DAY, shown
from factdrift.pages.browse.build import MOST, Tables


def _labels(decision: str) -> tuple[str, str]:
    """The objects of a decision as SQL and as pandas."""
    chosen = f"list_filter(objects, lambda x: x.decision = '{decision}')"
    return (
        f"array_to_string(list_transform({chosen}, lambda x: x.label), '; ')",
        "rows['objects'].map(lambda objects: '; '.join("
        f"x['label'] for x in objects if x['decision'] == '{decision}'))",
    )


COLUMNS = {
    "day": (
        f"coalesce({DAY}, '')",
        "rows['objects'].map(lambda objects: min([x[name] for x in objects if x['decision'] == 'new' "
        "for name in ('start', 'point_in_time') if (x[name] or '')[:4].isdigit()] or [x['end'] "
        "for x in objects if x['decision'] == 'obsolete' and (x['end'] or '')[:4].isdigit()] or [''])[:10])",
    ),
    "subject": ("subject.label", "rows['subject'].str['label']"),
    "relation": ("relation.label", "rows['relation'].str['label']"),
    "obsolete": _labels("obsolete"),
    "new": _labels("new"),
    "scenario": ("scenario", "rows['scenario']"),
    "split": ("split", "rows['split']"),
}
"""Column of the page -> its text as SQL and as pandas, of the rows of the dataset."""


def updates_script(tables: Tables) -> str:
    """The most popular updates as a script, since pages in files cannot fetch.

    A row is the ids of subject and relation, then the COLUMNS.
    """
    texts = ", ".join(f'{query} AS "{name}"' for name, (query, _) in COLUMNS.items())
    columns = f"subject.id AS subject_id, relation.id AS relation_id, {texts}"
    found = tables.rows(tables.build.dataset, columns, f"true ORDER BY file_row_number LIMIT {MOST}")
    data = {
        "file": f"results/{tables.build.pair.name}/{tables.build.dataset.name}",
        "columns": [{"name": name, "sql": query, "pandas": code} for name, (query, code) in COLUMNS.items()],
        "rows": [[shown(text, 300) for text in row.values()] for row in found],
    }
    # `<` is escaped for whoever puts the script into a page.
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":")).replace("<", "\\u003c")
    return f'"use strict";\nwindow.factdrift = {{ ...window.factdrift, table: {text} }};\n'
