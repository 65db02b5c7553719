"""The retrievers: thin `BaseRetriever` subclasses over one pipeline."""
