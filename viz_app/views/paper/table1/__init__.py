"""The view Table 1: the costs of layer types, counted and measured."""
