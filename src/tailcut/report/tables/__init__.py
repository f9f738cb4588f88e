"""Tables: sheets of plain values first, then the formats they are written in."""
