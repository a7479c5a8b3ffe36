"""The static page: the model in a browser, without a server."""
