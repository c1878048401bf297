"""The nouns of narthex; imports nothing else of ours and touches neither disk nor network."""
