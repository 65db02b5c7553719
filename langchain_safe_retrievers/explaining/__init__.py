"""Explaining: what one retrieval did, for people to look at."""
