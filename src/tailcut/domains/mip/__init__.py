"""The domain ``mip``: mixed-integer linear programs, files in MPS or LP format."""

from tailcut.domains.domain import bundled

DOMAIN = bundled("mip")
