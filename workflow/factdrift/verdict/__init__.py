"""Verdicts on what a model has written: correct, stale, wrong, ... by rules that need no model."""
