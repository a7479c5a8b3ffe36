"""Benchmarks of speed and memory as ratios to other programs.

`python -m benchmarks` runs all. They are not for CI.
"""
