"""Merging: what copies of one document become, and what that displaced."""
