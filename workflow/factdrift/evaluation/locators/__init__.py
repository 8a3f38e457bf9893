"""Locating methods, and what they find."""
