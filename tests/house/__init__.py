"""The rules of the house, each held by a test; reads the repository and never runs the product."""
