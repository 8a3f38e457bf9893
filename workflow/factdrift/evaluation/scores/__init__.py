"""Scores of edits, and the tables and figures made of them."""
