"""What is explained on: tables of rows, the features in them, and summaries of their columns."""
