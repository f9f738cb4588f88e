"""What decides: the protocol, one pick, the sliding window, recipes; and the parts they are made of."""
