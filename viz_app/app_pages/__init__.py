"""One thin script a page; the name of a script is the page's address."""
