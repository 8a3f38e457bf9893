"""What all stages use: settings, tables, files, progress, errors. Imports nothing else of the package."""
