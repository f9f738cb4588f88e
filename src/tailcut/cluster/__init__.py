"""Past one machine: cells of a benchmark and runs of solvers on a Dask cluster.

Selectors, stores and journals stay with the client. `cell_executor` computes cells (a
`tailcut.bench.execution.Executor`), `program_executor` runs programs (a
`tailcut.live.engine.ProgramExecutor`); `worker_cells` and `worker_programs` are what they do on a worker.
What happens to the cluster is logged under the name `tailcut.cluster`. Nothing outside this package knows
Dask, and Dask is loaded only when one of these modules is.
"""
