"""A spike: can summaries of code objects clear most entries, so that these need no simulation?"""
