"""The view Beam: what the search kept and pruned at each position."""
