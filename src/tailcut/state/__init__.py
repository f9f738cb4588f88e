"""The state of a selector as bytes: checked before they are believed, never unpickled."""
