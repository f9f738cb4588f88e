"""How values show themselves in notebooks: HTML tables and data frames."""
