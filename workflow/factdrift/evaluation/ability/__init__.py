"""What edits do to a model in general: perplexity on a text, and tasks."""
