"""The command line: thin commands over the public face, one command a file."""
