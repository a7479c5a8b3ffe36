"""Server and launch of the app."""
