"""Figure specifications drawn by matplotlib."""
