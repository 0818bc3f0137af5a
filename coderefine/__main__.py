"""`python -m coderefine`."""

from coderefine.cli import main

if __name__ == "__main__":
    main()
