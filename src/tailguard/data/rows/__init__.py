"""Where records live.

"Reduce this kernel over your records" is all that the other rooms may ask.
"""
