"""Who carries tasks out elsewhere."""
