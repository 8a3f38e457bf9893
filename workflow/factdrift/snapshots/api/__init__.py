"""Small dumps of entities that are fetched one by one from Wikidata's API."""
