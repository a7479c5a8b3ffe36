"""The page Switches: heads turned off or down."""
