"""The view Head to head: which head reads what another writes."""
