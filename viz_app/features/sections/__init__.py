"""The page The paper, section by section."""
