"""Checks of what comes from outside."""
