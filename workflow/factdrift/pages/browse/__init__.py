"""A build to look at: what both dumps say of a subject, what was decided about it, and how models took it."""
