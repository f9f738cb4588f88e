"""Reports: a result file or a live run turned into tables, figures and one page to read."""
