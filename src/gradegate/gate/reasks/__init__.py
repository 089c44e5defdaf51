"""Re-asks of failing grades: ballots, the rules that end them, the history of a grade, and what the gate's rules still need."""
