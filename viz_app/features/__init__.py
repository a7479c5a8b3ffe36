"""One package for what only one page, or one family of pages, needs."""
