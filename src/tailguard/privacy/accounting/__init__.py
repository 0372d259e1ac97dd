"""What events add up to: one accountant a file, and the closed forms below them."""
