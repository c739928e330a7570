"""The story of one real run: which line made a graph, which freed it, through which name it came back, and what grows."""
