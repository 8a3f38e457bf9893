"""Products for others: files under short names, and folders that load where others work."""
