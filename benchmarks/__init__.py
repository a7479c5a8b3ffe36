"""Speed and memory beside other programs, as ratios. For people, not for CI: `python -m benchmarks` runs all of
them.
"""
