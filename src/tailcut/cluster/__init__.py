"""Past one machine: cells of a benchmark and runs of solvers on a Dask cluster.

Selectors, stores and journals stay with the client; what goes to the workers is `tailcut.cluster.cells` (the
seam is `tailcut.bench.executors.Executor`) and `tailcut.cluster.runs` (the seam is `tailcut.live.work.Submit`).
Nothing outside this package knows Dask, and this package loads it only when `connect` is imported.
"""
