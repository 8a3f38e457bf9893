"""Dump files: downloaded, rendered from the sample, derived from a newer dump, or fetched by the API."""
