"""One script per page; its name is the address of the page."""
