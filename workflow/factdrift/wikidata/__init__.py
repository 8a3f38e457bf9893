"""Wikidata's data model: ids, dates, values and entities. Pure; touches no file."""
