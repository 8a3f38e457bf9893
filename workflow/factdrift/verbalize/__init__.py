"""Verbalize: sentence templates for relations, and display forms for literals (spec section 9)."""
