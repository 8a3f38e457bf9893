"""SPARQL: a client, a store of answers, and a local server."""
