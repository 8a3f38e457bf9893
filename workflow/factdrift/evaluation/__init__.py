"""Any question, of any model in any state, asked in any way (docs/evaluation.md)."""
