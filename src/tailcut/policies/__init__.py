"""Policies, which decide: the protocol, one pick, the sliding window, recipes, and their parts."""
