"""Entities as Wikidata has them now: fifty in a request of `wbgetentities`, whose answers are kept."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import keep_answer, kept_answer
from factdrift.core.progress import Progress
from factdrift.snapshots.api.client import Api, Json

By = Literal["ids", "titles"]
BATCH = 50
"""Entities in a request of `wbgetentities`."""

_ENGLISH = {"sites": "enwiki", "sitefilter": "enwiki"}
_ABOUT = ("info",)
"""Parts of an answer that are no key of a record."""


class Kept(msgspec.Struct):
    """A request, and the answer about an entity."""

    request: dict[str, Any]
    answer: Any


def answer_of(path: Path) -> Any:
    """The answer about an entity."""
    return kept_answer(path, Kept).answer


def fetch_current(
    api: Api,
    names: Iterable[str],
    props: str,
    path_of: Callable[[str], Path],
    progress: Progress,
    by: By = "ids",
) -> None:
    """Keeps the records of the entities whose file `path_of(name)` is missing.

    `props`: the parts of a record, joined by `|`. `by`: names are ids, or titles of English articles; a title
    that is none has a record with `missing`. Entities that an answer leaves out because it grew too long are
    requested again. Raises InputError if an answer has none of them.
    """
    missing = [name for name in dict.fromkeys(names) if not path_of(name).is_file()]
    waiting = [missing[start : start + BATCH] for start in range(0, len(missing), BATCH)]
    progress.total = (progress.total or 0) + len(waiting)
    while waiting:
        batch = waiting.pop(0)
        request: dict[str, str | int] = {"action": "wbgetentities", by: "|".join(batch), "props": props}
        request |= {"languages": "en|mul"} | (_ENGLISH if by == "titles" else {})
        records = api.get(request).get("entities")
        records = records if isinstance(records, dict) else {}
        if by == "titles":
            records = {name: {"missing": ""} for name in batch} | dict(map(_titled, records.values()))
        answered = [name for name in batch if _is_complete(records.get(name), props)]
        if not answered:
            raise InputError(f"{api.url}: no entity in the answer about {batch[0]}; is it Wikidata's API?")
        for name in answered:
            keep_answer(path_of(name), request=request, answer=records[name])
        if left := [name for name in batch if name not in answered]:
            waiting.insert(0, left)
            progress.total += 1
        progress.advance()


def _titled(record: Json) -> tuple[str, Json]:
    """The title of the English article that a record is about, and the record."""
    link: Mapping[str, Any] = (record.get("sitelinks") or {}).get("enwiki") or {}
    return str(link.get("title") or record.get("title") or ""), record


def _is_complete(record: Any, props: str) -> bool:
    """Whether a record has all parts: the API leaves some out of an answer that grows too large."""
    needed = {*props.split("|")}.difference(_ABOUT)
    return isinstance(record, dict) and ("missing" in record or needed <= set(record))
