"""What can be computed from an `Explanation`, and from the positions that go in."""
