"""Both ends of the pipe to an extraction child; the daemon imports ``limits`` and ``wire`` only, never a parser."""
