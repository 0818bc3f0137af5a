"""The server of the Model Context Protocol: what coding agents may ask of coderefine, over stdio or HTTP on loopback.

`command` parses and starts it, `server` has the tools, `folders` says what they may touch, `results` keeps what they
answer short. Whatever runs the project's code is done by `worker`, in a process of its own that `process` starts.
Only `server` and what it needs import the SDK.
"""
