"""Words: literals as people write them, sentence templates with their blanks, and the tables of both."""
