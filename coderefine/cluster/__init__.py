"""Run the project's tests and the search's candidates on a cluster; nothing of Dask is imported before `connect`."""
