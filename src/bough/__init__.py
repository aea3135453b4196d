"""bough."""
