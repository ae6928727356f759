"""The version of the server that this client belongs to. The same major version works."""

__version__ = "0.1.0"
