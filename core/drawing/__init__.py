"""Attention drawn in a browser.

Framework-free JavaScript modules, and what Python hands to them.

`lines.js` and `map.js` each export one function that draws into an element of any page: the app's components and the
exported HTML file use the same ones. `bundle.py` inlines modules and style sheets into pages that can fetch none.
"""
