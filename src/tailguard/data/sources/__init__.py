"""Where tables come from that are not in memory: files, folders, and what reads in batches.

A source tells public facts, which are names, types and the number of records, before a cell is
read, and hands out the cells afterwards. It interprets none.
"""
