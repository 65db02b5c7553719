"""The command line: `safe-retrievers`."""
