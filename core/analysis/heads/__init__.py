"""What one head does: score-cards and labels, gates and ablation, many heads as one."""
