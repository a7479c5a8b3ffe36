"""Check of the position of a predicted token."""


def check_position(position: int, num_predicted: int) -> None:
    """Check that there is a predicted token at a position, counted from 0.

    Raises:
        ValueError: there is none.
    """
    if not 0 <= position < num_predicted:
        raise ValueError(
            f"position {position} is not one of the {num_predicted} predicted tokens: give 0 to {num_predicted - 1}"
        )
