"""factdrift: what changed in the world between two Wikidata dumps, as benchmarks for language models."""
