"""Datasets of a period without dumps: which items to fetch, by the Query Service, and the build of them."""
