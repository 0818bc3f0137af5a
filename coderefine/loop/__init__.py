"""The refinement loop: critique, propose, judge, refine, prove. Imports nothing: `check` needs one module only."""
