"""One dump -> the tables of one snapshot, scattered over shards of the file and gathered by subject."""
