"""Private means, one a file: its paper's formula, its query with a proof, its plan and its run."""
