"""Asking legs: side by side, with the whole config, deadlines and a failure policy."""
