"""What no check sees of the audited tables, and why."""

from collections.abc import Iterable, Mapping

from factdrift.audit.kinds import ASOF, KLOB, LAYOUTS, QUESTIONS, REPLACEMENTS, RIPPLES, STREAM, UPDATES
from factdrift.audit.reading import Reading

_POOL = "which answers may be options is worked out from all items, which the audit does not repeat"
_CHOSEN = "the hash that decides among the candidates is not repeated, so what was not chosen is not known"

UNCHECKED: Mapping[str, Mapping[str, str]] = {
    UPDATES: {
        "neighborhood: entities that do not state the relation plainly": "whether the filters keep the facts "
        "of one that was left out is not worked out again",
        "neighborhood.objects.prompt, random_neighborhood.objects.prompt": "which of the templates the seed "
        "chooses; that it is one of the relation's is checked",
        "random_neighborhood": "which of the facts the seed draws; their number is checked",
    },
    REPLACEMENTS: {},
    QUESTIONS: {
        **dict.fromkeys(
            ("pool_size", "options: which and where", "open_only: why", "flags: other_kind"), _POOL
        ),
        "tr_facts, tr_related": "of these tables, which are not published, only facts, order, dates, "
        "statements, paths and answers are compared",
    },
    KLOB: {
        "p1_name": "a name of the published layout",
        "p2_name": "a name of the published layout",
        "recall_pass": "it is what a model answered",
        "line": "a line of an imported file",
        "rows that are missing": _CHOSEN,
        "words of KLoB-u": "only their number is checked, not that they are words of the list",
    },
    STREAM: {
        **{
            f"{where}{name}": "it needs the dumps of all dates; the audit reads two"
            for where in ("", "changes.")
            for name in ("lag_min", "lag_max")
        },
    },
    ASOF: {
        "fact_id": "an id without a meaning of its own",
        **dict.fromkeys(
            ("pool_size", "options: which and where", "open_only: why", "flags: other_kind"), _POOL
        ),
        "context: its day": "of what held last, if nothing holds at the last date",
        "holds: before, then": "only `now` is compared, with the task",
        "rows that are missing": "which dates are asked about is not worked out again",
    },
    RIPPLES: {
        **dict.fromkeys(
            ("rewording", "question", "conditions.prompt"),
            "the words of resources/words are not filled in again",
        ),
        "place": "an order without a meaning of its own",
        "probe_id": "an id without a meaning of its own; that none occurs twice is checked",
        "scenario": "it is that of the row of wikifactdiff",
        "popularity": "the sitelinks by which probes are chosen",
        "conditions.answers.label, conditions.answers.aliases": "their ids are compared",
        "rows that are missing": _CHOSEN,
    },
    LAYOUTS: {
        "prompts about shared objects": "CounterFact's neighborhood_prompts and attribute_prompts come from "
        "shared_objects.parquet, which is not audited; that none occurs twice is checked",
        "portability, mhop": "questions of TempRIPPLE in easyedit and wikibigedit are not compared with it",
    },
}
"""Dataset -> what no kind sees -> why."""


def unchecked(datasets: Iterable[str], reading: Reading) -> dict[str, dict[str, str]]:
    """Of these datasets what is not checked in this build, and why."""
    left_out = {name: dict(UNCHECKED[name]) for name in datasets if UNCHECKED.get(name) is not None}
    updates = left_out[UPDATES]
    if reading.configuration["pageviews"] != "none":
        updates["subject_popularity"] = "the page views are not read"
    if reading.nearby.documents is None:
        updates["neighborhood.dist, nearest"] = "the old dump has too many articles to compare all of them"
    if not reading.dumps.templates.are_known:
        updates["prompts"] = (
            "only the subject and the blank are checked: the templates are not the bundled ones"
        )
    return {name: reasons for name, reasons in left_out.items() if reasons}
