"""The view Why A rather than B: the tokens that speak for one prediction and against another."""
