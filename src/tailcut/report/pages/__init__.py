"""Pages: words, tables and figures put together, one page on a result file, one on a single scenario."""
