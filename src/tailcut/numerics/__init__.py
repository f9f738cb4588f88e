"""Numbers: normal tails, named random streams, vectors, and work spread over processes."""
