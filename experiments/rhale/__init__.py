"""RHALE: robust and heterogeneity-aware accumulated local effects (Gkolemis et al. 2023)."""
