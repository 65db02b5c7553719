"""What `SQLRetriever` is made of: a database that is only read, and two ways to search it."""
