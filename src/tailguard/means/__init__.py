"""Private means, one method a file: plan from public facts, then run on the gate's answers."""
