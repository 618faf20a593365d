"""``python -m lockgrid``: the same as the ``lockgrid`` command."""

from lockgrid.cli import main

if __name__ == "__main__":
    main()
