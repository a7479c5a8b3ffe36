"""The view Alignment: ribbons between the words of a sentence and its translation."""
