"""The card of a data set: README.md with the YAML header that the Hugging Face hub and `datasets` read."""
