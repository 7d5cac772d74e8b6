"""From results to figure specifications: arrays and texts, without a renderer."""
