"""Sequences of dates: the updates of all consecutive pairs, linked to chains."""
