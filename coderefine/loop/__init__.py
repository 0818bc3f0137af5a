"""The refinement loop: critique, propose, judge, refine, prove.

This module imports nothing, because `coderefine check` needs only one module of the package.
"""
