"""Data to explain: tables of rows, their features, and summaries of their columns."""
