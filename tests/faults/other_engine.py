"""`python other_engine.py COMMAND ...`: the command line of a release with another engine.

Its version is "2", and it plays every block from the next seed, so that no integer is as before: a chunk of one version that
the other played could not go unseen.
"""

from dataclasses import replace

from workers.engine import play
from workers.engine.play import Lineup, MatchRows

VERSION = "2"


def next_seed(seed: int) -> int:
    """The seed from which this engine plays."""
    return (seed + 1) % 2**64


if __name__ == "__main__":
    play_as_before = play.play_blocks

    def play_blocks(lineup: Lineup, first_block: int, blocks: int) -> MatchRows:
        """The blocks as this engine plays them."""
        return play_as_before(replace(lineup, seed=next_seed(lineup.seed)), first_block, blocks)

    setattr(play, "play_blocks", play_blocks)  # noqa: B010
    setattr(play, "ENGINE_VERSION", VERSION)  # noqa: B010
    from service.cli.main import main  # what it imports takes the above by name

    main()
