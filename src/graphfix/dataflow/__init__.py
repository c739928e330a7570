"""Dataflow over code objects: what holds at a point on some way there, or on every way."""
