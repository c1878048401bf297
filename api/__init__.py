"""The surfaces: HTTP API, review pages, command line; no rules of the product, no threads of its own."""
