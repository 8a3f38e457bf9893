"""Two builds of the dataset, compared: what came, what went, what is called otherwise, and why."""
