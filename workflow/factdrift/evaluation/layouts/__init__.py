"""Dataset layouts of other editing projects, for export and import (docs/layouts.md)."""
