"""Cloze prompts against the sentence templates of the relation, and literals as English writes them."""

import calendar
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any

from factdrift.audit.dates import span
from factdrift.audit.lines import Entity
from factdrift.audit.phrases import MONTHS, bare
from factdrift.audit.values import decimal, plain
from factdrift.core.columns import Row
from factdrift.core.files import read_tsv
from factdrift.core.paths import RESOURCES

BLANK = "____"
_AS_OF = re.compile(r"^As of (?:[A-Z][a-z]+ (?:\d{1,2}, )?)?[\d,]*\d(?: BC| AD)?, ")


class Templates:
    """The bundled templates; wordings are compared without articles, and verbs in the singular."""

    def __init__(self, are_known: bool, most: int = 5) -> None:
        """`are_known`: the build takes its sentences from this table; `most`: how many of a relation."""
        self.are_known = are_known
        self._of: dict[str, list[str]] = defaultdict(list)
        for row in read_tsv(RESOURCES / "templates" / "templates.tsv"):
            if len(self._of[row["property"]]) < most:
                self._of[row["property"]].append(row["template"])
        self._singular = singular_forms("plural", "possessive")

    def misfit(self, prompt: str, relation: Row, subject: Row, index: int | None = None) -> str | None:
        """Why a prompt does not ask for this relation of this subject; None if it does.

        `index`: which of the relation's templates it must be; None for any of them.
        """
        if prompt.count(BLANK) != 1 + (subject["label"] or "").count(BLANK):
            return f"{prompt!r} does not have one blank"
        if plain(subject["label"]) not in plain(prompt):
            return f"{prompt!r} does not name {subject['label']!r}"
        if not self.are_known:
            return None
        templates = self._of.get(relation["id"]) or [
            template.replace("{relation}", relation["label"] or relation["id"]) for template in self._of["*"]
        ]
        if index is not None:
            templates = templates[index : index + 1]
        names = [subject["label"]]
        names += [f"{subject['label']} ({subject['description']})"] * bool(subject["description"])
        due = {
            self.bare(template.replace("{subject}", name).replace("{object}", BLANK))
            for template in templates
            for name in names
        }
        if self.bare(_AS_OF.sub("", prompt)) not in due:
            return f"{prompt!r} is no template of {relation['id']} about {subject['label']!r}"
        return None

    def filled(self, relation: str, name: str) -> list[str]:
        """The relation's own templates with a name as their subject; none where the build has others."""
        own = self._of.get(relation, ()) if self.are_known else ()
        return [text.replace("{subject}", name).replace("{object}", BLANK) for text in own]

    def number(self, relation: str) -> int:
        """How many templates a relation has."""
        return len(self._of.get(relation) or self._of["*"])

    def source(self, relation: str) -> str:
        """`bundled`, or `generic` for a relation without templates of its own."""
        return "bundled" if self._of.get(relation) else "generic"

    def bare(self, text: str) -> str:
        """A sentence without articles and case, its verbs in the singular."""
        return bare(text, self._singular)


def singular_forms(*kinds: str) -> dict[str, str]:
    """The English words of these kinds in `resources/words/grammar.tsv` -> their singular or present."""
    rows = read_tsv(RESOURCES / "words" / "grammar.tsv")
    return {row["other"]: row["word"] for row in rows if row["language"] == "en" and row["kind"] in kinds}


def prompts(row: Row, templates: Templates) -> Iterator[str]:
    """What is wrong with the prompts of an update: the first template, then the others in their order."""
    own = [row["update_prompt"], *row["generalization_prompts"]]
    known = templates.are_known and row["template_source"] in ("bundled", "generic")
    for index, prompt in enumerate(own):
        reason = templates.misfit(prompt, row["relation"], row["subject"], index if known else None)
        if reason:
            yield reason
    if not any(value["point_in_time"] for value in row["objects"]):
        dated = (prompt for prompt in own if _AS_OF.match(prompt))
        yield from (f"{prompt!r} has a date, and the update is of no measurement" for prompt in dated)
    source = templates.source(row["relation"]["id"])
    if templates.are_known and row["template_source"] != source:
        yield f"template_source is {row['template_source']}, by the table {source}"
    if known and len(own) != templates.number(row["relation"]["id"]):
        yield f"{len(own)} prompts, as many as the relation has no templates"


def misread(
    value: Row, stated: Mapping[str, Any] | None, reference: bool, units: Mapping[str, Entity]
) -> str | None:
    """Why the label of a literal, or its short form, does not say its value; None if it does.

    `stated`: the value of the statement in the dump; `units`: the lines of units.
    """
    label, raw, kind = plain(value["label"]), plain(value["raw"]), value["datatype"]
    if reference or kind not in ("quantity", "time"):
        good, short = label == raw, raw
    elif kind == "time":
        due = written_date(stated) if stated else None
        year = span({"time": value["raw"], "precision": 9})
        vague = year is None or not re.search(r"\d{4}", label) or str(abs(year.written[0])) in label
        good, short = (label == due) if due else vague, label
    else:
        if (amount := decimal(raw)) is None:
            return None if label == raw else f"label {value['label']!r} does not say {value['raw']}"
        unit = str(stated["unit"]).rpartition("/")[2] if stated and "unit" in stated else None
        good = _says(label, number(amount), unit, units, amount < 0)
        forms = shortened(amount)
        if value["short"] is not None and not any(
            _says(plain(value["short"]), form, unit, units, amount < 0) for form in forms
        ):
            return f"short {value['short']!r} does not say {value['raw']}"
        return None if good else f"label {value['label']!r} does not say {value['raw']} {unit or ''}".rstrip()
    if value["short"] is not None and not reference and plain(value["short"]) != short:
        return f"short {value['short']!r} is not the label"
    return None if good else f"label {value['label']!r} does not say {value['raw']}"


def written_date(value: Mapping[str, Any]) -> str | None:
    """A date of year precision or finer after Christ as English writes it; None for others."""
    match = re.fullmatch(r"\+0*(\d+)-(\d\d)-(\d\d)T[\d:]+Z", str(value.get("time", "")))
    precision = value.get("precision", 0)
    if match is None or precision < 9 or int(match[1]) < 100:
        return None
    year, month, day = (int(part) for part in match.groups())
    if precision == 9:
        return str(year)
    if not 1 <= month <= 12 or (precision >= 11 and not 1 <= day <= calendar.monthrange(year, month)[1]):
        return None
    return f"{MONTHS[month - 1]} {year}" if precision == 10 else f"{MONTHS[month - 1]} {day}, {year}"


def number(amount: Decimal) -> str:
    """An amount with separators, without trailing zeros and without its sign."""
    text = format(abs(amount), ",f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def shortened(amount: Decimal) -> list[str]:
    """The short forms of an amount of a million or more, with at most two decimals; else the full one."""
    size = abs(amount)
    if not 10**6 <= size < 10**15:
        return [number(amount)]
    texts = []
    for sign, factor in (("M", 6), ("B", 9), ("T", 12)):
        scaled = (size / Decimal(10) ** factor).quantize(Decimal("0.01"), ROUND_HALF_EVEN)
        if 1 <= scaled <= 1000:
            texts.append(number(scaled.normalize()) + sign)
    return texts


_IRREGULAR = {"foot": "feet", "inch": "inches", "person": "people", "man": "men", "child": "children"}


def _says(label: str, amount: str, unit: str | None, units: Mapping[str, Entity], negative: bool) -> bool:
    """Whether a label is an amount with its unit: a symbol on either side, or the unit's name after it."""
    bare = label.replace("\N{MINUS SIGN}", "-")
    if negative != ("-" in bare.partition(amount)[0]):
        return False
    match = re.fullmatch(rf"-?([^\d]*?)-?{re.escape(amount)}(?![\d.,]*\d)(.*)", bare)
    if match is None:
        return False
    rest = f"{match[1]}{match[2]}".strip()
    if unit is None:
        return True
    if unit in ("1", "Q199"):
        return not rest
    line = units.get(unit)
    if rest == "%" or unit == "Q11229":
        return rest == "%" and unit == "Q11229"
    if line is None:
        return True  # the name of a unit that the dump lacks comes from elsewhere
    if rest in {plain(symbol) for symbol in line.symbols} or rest == unit:
        return True
    return _is_plural(rest, plain(line.label))


def _is_plural(text: str, name: str) -> bool:
    """Whether a text is a name or its plural: the same words but for the ending of one of them."""
    ours, theirs = text.split(), name.split()
    if len(ours) != len(theirs):
        return False
    different = [(a, b) for a, b in zip(ours, theirs, strict=True) if a != b]
    if len(different) > 1:
        return False
    return all(
        a == _IRREGULAR.get(b) or (a.startswith(b[: max(1, len(b) - 1)]) and len(a) - len(b) <= 3)
        for a, b in different
    )
