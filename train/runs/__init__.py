"""A run's folder: state, checkpointing, log, signals, and the machine it runs on."""
