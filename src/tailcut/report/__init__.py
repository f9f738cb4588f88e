"""Reports: a result file turned into tables, figures and one page to read.

results (what is there, what is missing) -> numbers, curves, ... (plain data) -> sheets, figures -> page
"""
