"""The state of a selector as bytes, with a checksum and without pickle."""
