"""What surrounds every page: sentence input, sidebar, tour, share menu, badges."""
