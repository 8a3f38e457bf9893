"""Facts about similar entities, and random ones: what an update of one fact must leave alone."""
