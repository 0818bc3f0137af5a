"""The refinement loop: critique, propose, judge, refine, prove.

Imports nothing, because `coderefine check` needs only one of its modules.
"""
