"""Certificates: what was promised, spent and released, as data and as a page."""

from tailguard.privacy.certificate.certificate import Certificate

__all__ = ["Certificate"]
