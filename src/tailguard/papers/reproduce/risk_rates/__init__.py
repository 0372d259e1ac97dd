"""Tasks that measure how fast excess risks fall, and how they compare with the bounds."""
