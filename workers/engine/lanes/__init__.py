"""The lane kernel: double-six without drawing, 2 to 4 players, whole matches in lanes."""
