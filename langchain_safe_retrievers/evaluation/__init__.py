"""Evaluating, comparing and tuning retrievers on questions whose answers are known."""
