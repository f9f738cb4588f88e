"""The service: one selector for many workers, over HTTP; no acknowledged request is ever lost.

client -> guard (host, token, scope, size) -> route (fields) -> writer (one thread) -> journal -> response
"""
