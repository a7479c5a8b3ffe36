"""Attention drawn in a browser: framework-free JavaScript modules, and their data.

`lines.js` and `map.js` each export one function that draws into an element of any page: the app's components and the
exported HTML file use the same ones. `bundle.py` inlines modules and style sheets into pages that can fetch none.
"""
