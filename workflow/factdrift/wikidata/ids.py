"""Entity ids as integers (items positive, properties negative, so that both fit one column), and pages."""

from factdrift.core.errors import InputError

WIKI = "https://www.wikidata.org/w"

MADE_UP_ITEMS = 900_000_000
"""Items from this number on are entities of the bundled sample whose id in Wikidata is not known.

Wikidata itself is at some 140 million items.
"""

MADE_UP_REVISIONS = 10**13
"""Revisions from this number on are counted by the bundled sample; Wikidata's are below 10**10."""


def entity_number(entity_id: str) -> int | None:
    """`Q42` -> 42, `P31` -> -31; None for lexemes, forms, senses, schemas and anything else."""
    if len(entity_id) < 2 or not (entity_id.isascii() and entity_id[1:].isdigit()):
        return None
    number = int(entity_id[1:])
    if number >= 2**31:
        return None
    match entity_id[0]:
        case "Q":
            return number
        case "P":
            return -number
    return None


def entity_id(number: int) -> str:
    """The inverse of `entity_number`: 42 -> `Q42`, -31 -> `P31`."""
    return f"Q{number}" if number > 0 else f"P{-number}"


def property_number(property_id: str) -> int:
    """`P31` -> 31, the positive form that the `property` columns hold.

    Raises ValueError if it is no property id.
    """
    number = entity_number(property_id)
    if number is None or property_id[0] != "P":
        raise ValueError(f"{property_id!r} is no property id such as P31")
    return -number


def listed_property(property_id: str, where: str) -> int:
    """The same for an id of a table. Raises InputError that begins with `where`, its file and line."""
    try:
        return property_number(property_id)
    except ValueError as error:
        raise InputError(f"{where}: {error}; correct it") from None


def property_id(number: int) -> str:
    """31 -> `P31`."""
    return f"P{number}"


def is_made_up(item: str) -> bool:
    """Whether an id (Q...) is one of the bundled sample's whose id in Wikidata is not known."""
    return (entity_number(item) or 0) >= MADE_UP_ITEMS


def page(item: str, relation: str = "") -> str:
    """The page of an item, at its statements of a relation if one is given."""
    return f"{WIKI}iki/{item}" + f"#{relation}" * bool(relation)


def revision_page(subject: str, revision: int | None) -> str | None:
    """The page of a subject as a dump contains it; its newest page where the revision is not known.

    None where no page of Wikidata shows it: made-up items and revisions of the bundled sample.
    """
    if is_made_up(subject) or (revision or 0) >= MADE_UP_REVISIONS:
        return None
    return f"{WIKI}/index.php?oldid={revision}" if revision else page(subject)
