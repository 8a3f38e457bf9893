"""TempRIPPLE: questions about what changed in a period, what it was before, and what follows from either."""
