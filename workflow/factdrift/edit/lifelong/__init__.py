"""Edits in the order in which the world changed: interval by interval, each on top of all earlier ones."""
