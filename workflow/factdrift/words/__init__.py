"""Words: literals as people write them, and sentence templates with their blanks. Pure; touches no file."""
