"""The page Step by step: one token through a layer, or one step of training, as steps with their formulas."""
