"""The parts of the drop folder: what is a file, when it is settled, where it is filed; no rules of the product."""
