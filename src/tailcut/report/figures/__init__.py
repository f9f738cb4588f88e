"""Figures: one module per kind, each a function from plain data to a matplotlib figure.

No global state: figures are made with `canvas.sheet`, never with pyplot, so they can be made in any process.
"""
