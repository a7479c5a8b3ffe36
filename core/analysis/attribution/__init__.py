"""Attribution methods: from attention weights and what else the model computes to who influences whom."""
