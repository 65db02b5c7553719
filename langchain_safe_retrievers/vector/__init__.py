"""The vector leg: what a store returns, what its metadata can hold, and what its filter can say."""
