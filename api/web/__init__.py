"""The review pages: HTML that works without a script; renders nothing of what was captured."""
