"""Storage of records.

Other packages may only reduce a kernel over the records.
"""
