"""Editing: methods that write a fact into a language model, and probes of what else they change."""
