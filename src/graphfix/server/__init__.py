"""Findings for editors: the protocol of language servers in front of the same analysis. Needs the extra `lsp`."""
