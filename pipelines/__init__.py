"""The product: a use case is a file, a family of same-shaped things is a folder; never threads, clocks or HTTP."""
