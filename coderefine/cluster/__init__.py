"""Run the project's tests on the workers of a Dask cluster; nothing of Dask is imported before `connect`."""
