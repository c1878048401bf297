"""Derived search data over approved revisions: may be deleted while running, is rebuilt, is never believed."""
