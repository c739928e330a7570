"""Where values may go, over all the code of a file and of the project's files that it imports: what runs have not shown is asked here.

`scopes`, `definitions`, `expressions` and `statements` pass over the code, `sight` over all files, `calls` and `methods` link what
they lead to; the result is a `graph` of places, of which `flow` and `freed` answer the questions of proofs.
"""
