"""The editing methods, their common interface, and their hyper-parameters."""
