"""The view Switches: heads turned off."""
