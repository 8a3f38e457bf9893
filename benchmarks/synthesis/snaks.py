"""Snaks, statements and references as text, in the key order and escaping of Wikidata's dumps."""

import hashlib
import random
from collections.abc import Iterable

from factdrift.snapshots.compression import php_json
from synthesis.vocabulary import PROPERTIES

VALUE_TYPES = {
    "wikibase-item": "wikibase-entityid",
    "wikibase-property": "wikibase-entityid",
    "time": "time",
    "quantity": "quantity",
    "monolingualtext": "monolingualtext",
    "globe-coordinate": "globecoordinate",
}
"""The type of the datavalue by the property's datatype; all others hold strings."""


def quoted(text: str) -> str:
    """A JSON string."""
    return php_json(text).decode()


def item_value(number: int) -> str:
    return f'{{"entity-type":"item","numeric-id":{number},"id":"Q{number}"}}'


def property_value(number: int) -> str:
    return f'{{"entity-type":"property","numeric-id":{number},"id":"P{number}"}}'


def amount_value(amount: str, unit: int | None) -> str:
    uri = f"http:\\/\\/www.wikidata.org\\/entity\\/Q{unit}" if unit else "1"
    return f'{{"amount":"+{amount}","unit":"{uri}"}}'


def text_value(text: str) -> str:
    return f'{{"text":{quoted(text)},"language":"en"}}'


def snak(property_: int, value: str, hashed: bool = False) -> str:
    """A snak; `value` is its datavalue's value as JSON, `somevalue` or `novalue`; qualifiers are hashed."""
    datatype = PROPERTIES[property_].datatype
    kind = value if value in ("somevalue", "novalue") else "value"
    rest = f'"datatype":"{datatype}"}}'
    if kind == "value":
        rest = f'"datavalue":{{"value":{value},"type":"{VALUE_TYPES.get(datatype, "string")}"}},{rest}'
    start = f'{{"snaktype":"{kind}","property":"P{property_}",'
    if hashed:
        start += f'"hash":"{hashlib.sha1((start + rest).encode()).hexdigest()}",'
    return start + rest


def guid(rng: random.Random) -> str:
    """What follows the `$` of a statement id."""
    digits = f"{rng.getrandbits(128):032X}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def qualifiers(values: Iterable[tuple[int, str]]) -> str:
    """The two keys of a statement's qualifiers, empty if there are none; `values` are (property, value)."""
    groups: dict[int, list[str]] = {}
    for property_, value in values:
        groups.setdefault(property_, []).append(snak(property_, value, hashed=True))
    if not groups:
        return ""
    listed = ",".join(f'"P{each}":[{",".join(snaks)}]' for each, snaks in groups.items())
    order = ",".join(f'"P{each}"' for each in groups)
    return f'"qualifiers":{{{listed}}},"qualifiers-order":[{order}],'


def statement(main: str, id: str, quals: str = "", rank: str = "normal", references: str = "") -> str:
    """A statement from its main snak, its qualifiers and its references, all of them text."""
    return f'{{"mainsnak":{main},"type":"statement",{quals}"id":"{id}","rank":"{rank}"{references}}}'


def references(groups: Iterable[tuple[tuple[int, str], ...]]) -> str:
    """The key `references` of a statement, from the (property, value) of each reference's snaks."""
    listed = []
    for group in groups:
        snaks = ",".join(f'"P{property_}":[{snak(property_, value)}]' for property_, value in group)
        order = ",".join(f'"P{property_}"' for property_, _ in group)
        digest = hashlib.sha1(snaks.encode()).hexdigest()
        listed.append(f'{{"hash":"{digest}","snaks":{{{snaks}}},"snaks-order":[{order}]}}')
    return f',"references":[{",".join(listed)}]'


def claims(groups: dict[int, list[str]]) -> str:
    """The map of claims from the statements of each property."""
    return "{" + ",".join(f'"P{number}":[{",".join(each)}]' for number, each in groups.items()) + "}"
