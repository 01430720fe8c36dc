"""Strategy regressions: a candidate against its baseline, again and again, with a verdict for each run."""
