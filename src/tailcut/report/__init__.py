"""Reports: a result file turned into tables, figures and one page to read.

numbers (plain data) -> tables, figures -> pages; `reports` and `demo` do all of it, running what is missing
"""
