"""The call graph: what each instruction of a program may run."""
