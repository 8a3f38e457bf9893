"""Addresses of Wikidata's pages, for what a dump states."""

from factdrift.wikidata.ids import MADE_UP_ITEMS, MADE_UP_REVISIONS, entity_number

WIKI = "https://www.wikidata.org/w"


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
