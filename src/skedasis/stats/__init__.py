"""Statistics on plain arrays."""
