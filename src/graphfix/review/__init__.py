"""Reviewing findings one by one: what was decided, what each file comes to, and how a stopped review goes on."""
