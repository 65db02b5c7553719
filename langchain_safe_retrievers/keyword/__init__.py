"""The embedded keyword index: words, settings, filters, and the index itself (on tantivy)."""
