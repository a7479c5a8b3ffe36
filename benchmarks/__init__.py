"""Benchmarks of speed and memory as ratios to other programs, run by `python -m benchmarks`; they are not for CI."""
