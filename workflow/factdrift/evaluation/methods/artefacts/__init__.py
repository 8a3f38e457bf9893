"""Files that are computed once for each model: MEND's editor networks, and prefixes of prompts."""
