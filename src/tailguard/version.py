"""The one place where the version number lives."""

__version__ = "0.1.0"
