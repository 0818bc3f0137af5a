"""The loop: critique, propose, judge, refine, prove. Nothing is imported here: `check` needs one module of it."""
