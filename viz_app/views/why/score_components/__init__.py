"""The view Why a head looks there: a score, split over the parts of its query and of its key."""
