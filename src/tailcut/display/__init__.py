"""How values are shown in notebooks: HTML tables and data frames."""
