"""Other people's selectors as rows of the catalogue, for comparison (docs/background/peers.md).

The rows are in `tailcut.peers.rows`; the catalogue knows their names, and nothing here is imported before one
of them is asked for. The libraries come with the extra ``peers``.
"""
