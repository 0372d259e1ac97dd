"""Small pictures in a page, as SVG: an interval beside zero, a share as a bar.

They repeat numbers that stand beside them, so that a screen reader leaves them out.
"""


class Picture(str):
    """Markup that is made of numbers alone, and is not escaped again.

    Examples
    --------
    >>> isinstance(bar(0.5), Picture)
    True
    """

    __slots__ = ()


FRAME = 'preserveAspectRatio="none" aria-hidden="true" focusable="false"'


def interval_picture(value: float, low: float, high: float) -> Picture:
    """Return an interval in units of its end farther from zero, which is at 100 of 0 to 200.

    Examples
    --------
    >>> picture = interval_picture(1.5, 1.0, 2.0)
    >>> 'x1="150" x2="200"' in picture
    True
    """
    far = max(abs(low), abs(high))
    left, middle, right = (100.0 + 100.0 * (x / far) for x in (low, value, high))
    return Picture(
        f'<svg viewBox="-4 0 208 10" {FRAME}>'
        '<line class="axis" x1="0" x2="200" y1="5" y2="5"/>'
        '<line class="zero" x1="100" x2="100" y1="0" y2="10"/>'
        f'<line class="interval" x1="{left:.4g}" x2="{right:.4g}" y1="5" y2="5"/>'
        f'<rect class="point" x="{middle - 1.5:.4g}" width="3" y="1" height="8"/></svg>'
    )


def bar(share: float) -> Picture:
    """Return a share as a bar, full at 1.

    Examples
    --------
    >>> 'width="25"' in bar(0.25)
    True
    """
    return Picture(
        f'<svg viewBox="0 0 100 10" {FRAME}><rect class="bar" x="0" y="1" height="8" '
        f'width="{min(100.0, 100.0 * share):.4g}"/></svg>'
    )
