"""The view Heads: the grid of all heads, and the selected ones as lines, maps, tables or BertViz."""
