"""The process: threads, clocks, signals, configuration; no rules of the product."""
