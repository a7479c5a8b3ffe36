"""Figures as SVG, PDF and PNG files, drawn by matplotlib without a browser."""
