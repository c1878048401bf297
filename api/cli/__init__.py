"""The command ``narthex``: a file a verb, found by its name; a thin client that imports only the standard library."""
