"""What is declared as public of a table: columns, levels, classes, constants for missing cells."""
