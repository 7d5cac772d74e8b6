"""Bins chosen by penalized likelihood compared with Eq. 13, other libraries' bins, and equal bins."""
