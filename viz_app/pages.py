"""The app's pages in the order of the sidebar: the name of each one's script in app_pages/, which is its address
too, and its title.
"""

PAGES = (
    ("translate", "Translate"),
    ("heads", "Heads"),
    ("beam", "Beam"),
    ("switches", "Switches"),
    ("alignment", "Alignment"),
    ("compare", "Compare"),
    ("bertviz", "BertViz"),
    ("positions", "Positions"),
    ("paper_figures", "Figures of the paper"),
    ("training", "Training"),
    ("why", "Why self-attention"),
    ("parsing", "Parsing"),
)
