"""One page about a build: what was made from what, what changed, and how everything was decided."""
