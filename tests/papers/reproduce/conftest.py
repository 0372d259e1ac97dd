"""The command line, called in this process."""

from cli import conftest

call = conftest.call
