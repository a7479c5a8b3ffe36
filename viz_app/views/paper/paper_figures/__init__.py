"""The view Figures: Figures 3 to 5 of the paper, drawn from any model."""
