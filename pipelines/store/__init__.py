"""All SQL of state.db: connections, migrations, moves, the event chain and one file of queries a noun."""
