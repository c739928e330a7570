"""All rules, listed by hand in code order."""
