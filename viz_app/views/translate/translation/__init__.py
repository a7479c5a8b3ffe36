"""The view Translate: tokens, alternatives and hypotheses of a sentence, and a target that is typed."""
