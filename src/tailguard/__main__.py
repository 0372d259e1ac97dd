"""Run ``python -m tailguard`` as the command ``tailguard``."""

from tailguard.cli.app import main

if __name__ == "__main__":
    main()
