"""How fast excess risks fall, and how they lie between the bounds: what is run and how."""
