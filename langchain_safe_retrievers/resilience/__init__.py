"""What keeps a leg's trouble away from its caller: each part is small and can be used alone."""
