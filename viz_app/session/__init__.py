"""State of one visitor, and results that all visitors share."""
