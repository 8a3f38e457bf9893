"""Ripples: what follows from an update, what it must leave alone, and what was true before."""
