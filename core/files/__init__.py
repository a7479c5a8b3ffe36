"""Files that are read with care and written whole or not at all, and the limits for both."""
