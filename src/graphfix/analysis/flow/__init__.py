"""Where values may go, over all code that is in sight, without a run: what a proof goes by.

`variables`, `bindings`, `special_methods`, `access` and `instructions` add edges, instruction by instruction; `sight` passes over all files;
`calls`, `language` and `methods` link what calls lead to. The result is a `graph` of places. `paths` leads from syntax to instructions, and `flow`,
`freed` and `swallowed` answer the questions of proofs.
"""
