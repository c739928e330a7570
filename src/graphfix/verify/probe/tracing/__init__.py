"""What `graphfix trace` asks of a run besides its numbers: who carried a graph, who wrote to what, what grows, what is wasted."""
