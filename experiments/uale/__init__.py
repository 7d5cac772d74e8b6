"""UALE: uncertainty-aware accumulated local effects."""
