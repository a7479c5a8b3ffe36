"""How the app is served and launched."""
