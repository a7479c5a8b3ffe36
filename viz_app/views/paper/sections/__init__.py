"""The view The paper, section by section."""
