"""Answers of language models to TempRIPPLE's questions: without context, with it, and after an edit."""
