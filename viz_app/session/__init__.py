"""State of one visitor: current reading and model, permalink, selection, jobs; and what all visitors share."""
