"""Whether retrievers and memories know what changed: rankings, folders for any system, and their scores."""
