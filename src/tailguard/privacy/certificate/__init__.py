"""What was promised, spent and released, as a record and as a page."""

from tailguard.privacy.certificate.certificate import Certificate

__all__ = ["Certificate"]
