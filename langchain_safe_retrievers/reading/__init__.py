"""Files as documents: one module a format."""
