"""Preloaded by workers of our own: Ctrl-C in the terminal reaches them too, and is the client's business."""

import signal

signal.signal(signal.SIGINT, signal.SIG_IGN)
