"""Whether bins chosen by their risk beat Eq. 13, other libraries' bins, and any number of equal ones."""
