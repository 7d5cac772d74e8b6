"""From results to figure specifications."""
