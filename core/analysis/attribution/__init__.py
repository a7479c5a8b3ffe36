"""Attribution methods: how much each token contributes to another."""
