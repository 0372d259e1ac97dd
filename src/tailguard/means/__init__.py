"""Private means, one per file: the paper's formula, query with proof, plan and run."""
