"""A policy in Python: it closes the ends on which its own hand is strong."""

from collections import Counter


class Closer:
    """Leaves the ends of which it holds most tiles, and breaks ties by a number of the decision."""

    name = "closer"
    version = "1"

    def choose(self, view, random):
        """The placement whose new ends fit most of the tiles that stay in the hand; `view.legal` has at least two."""
        held = Counter(value for tile in view.hand for value in set(tile))
        best = max(self._strength(view, placement, held) for placement in view.legal)
        among = [placement for placement in view.legal if self._strength(view, placement, held) == best]
        return among[random.below(len(among))]

    def _strength(self, view, placement, held):
        (low, high), end = placement
        ends = list(view.line_ends or (low, high))
        if end is not None and view.line_ends:
            ends[ends.index(end)] = high if low == end else low
        # The placed tile itself no longer counts.
        return sum(held[value] - (value in (low, high)) for value in ends)
