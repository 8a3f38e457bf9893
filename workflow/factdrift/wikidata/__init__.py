"""Wikidata's data model: ids, dates, values, entities, tables. Pure, but for what reads dumps and labels."""
