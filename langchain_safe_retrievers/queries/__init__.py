"""Writing several queries for one question, and reading what a model wrote."""
