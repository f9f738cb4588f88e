"""Past one machine: cells of a benchmark and runs of solvers on a Dask cluster.

Selectors, stores and journals stay with the client. What happens to the cluster is logged under the name
`tailcut.cluster`. Only this package knows Dask, which is loaded when one of its modules is.
"""
