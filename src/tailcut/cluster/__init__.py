"""Past one machine: cells of a benchmark and runs of solvers on a Dask cluster.

Selectors, stores and journals stay with the client. `tailcut.cluster.cells` computes cells (the seam is
`tailcut.bench.execution.Executor`), `tailcut.cluster.runs` runs programs (`tailcut.live.work.Runs`).
Nothing outside this package knows Dask, and Dask is loaded only when one of these modules is.
"""
