"""Wikidata's data model: ids, dates, values and entities. Pure, but for `dump`, which reads dump files."""
