"""Figure specifications drawn as SVG."""
