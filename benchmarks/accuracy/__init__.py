"""How accurate is a private fit that nobody tuned? Tasks, peers, one table and one plot.

Run ``make bench-accuracy``; ``docs/accuracy.md`` says what is compared and what is not.
"""
