"""The server of the Model Context Protocol, for coding agents: over stdio, or over HTTP on the loopback interface.

`command_line` parses the arguments, `server` has the tools, `folders` decides which folders they may use, `results`
limits the length of answers. Whatever runs the project's code runs in a `worker`, a separate process that `server`
starts. Only `server` and the modules that it needs import the SDK.
"""
