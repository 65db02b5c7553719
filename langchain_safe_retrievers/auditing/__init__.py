"""Auditing: what an upstream retriever loses on a user's own queries."""
