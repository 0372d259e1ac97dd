"""What a run will do, as public numbers: problem, stages, plan; and what it found."""
