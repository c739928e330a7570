"""Which code of a program may have to do with graphs: asked before anything is simulated."""
