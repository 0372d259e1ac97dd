"""What the papers promise, measured on simulated records: one experiment a file."""
