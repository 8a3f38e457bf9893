"""Locating methods: which units of a language model give the answer to a sentence (docs/locating.md)."""
