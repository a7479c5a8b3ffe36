"""The pages of the app in the order of the sidebar: name and title.

The name is that of the script in app_pages/ and of the address.
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
