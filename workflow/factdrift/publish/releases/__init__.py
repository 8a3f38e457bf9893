"""Releases: dated copies of what a build gives, and the command that makes a new one of each new dump."""
