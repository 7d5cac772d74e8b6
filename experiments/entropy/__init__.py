"""Model-agnostic variable importance for predictive uncertainty: an entropy-based approach (Wood et al. 2024)."""
