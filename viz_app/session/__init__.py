"""State of one visitor: current reading and model, address, selections, jobs.

And results that all visitors share.
"""
