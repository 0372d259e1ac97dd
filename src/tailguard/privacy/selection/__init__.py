"""What it costs to release the best of a secret, random number of tries."""
