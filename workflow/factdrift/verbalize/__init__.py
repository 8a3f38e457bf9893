"""Verbalize: sentence templates for relations, and display forms for literals."""
