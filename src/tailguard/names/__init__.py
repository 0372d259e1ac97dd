"""What the package shows, and from where: plain text, no mathematics."""
