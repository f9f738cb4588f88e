"""The benchmark: replay recorded runtimes through selectors, keep the results, compare them.

plan (which cells) -> execution (missing ones, on all cores) -> store (one SQLite file) -> summary, ranks;
`benchmark` does all of it
"""
