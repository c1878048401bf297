"""A family with one member that does what a parser under attack would do; loaded by the children of the tests."""
