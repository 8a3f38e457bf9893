"""Language models: loading, scoring, hooks for edits, second moments, and the bundled sample models."""
