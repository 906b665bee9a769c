"""What is true of a video of the simulated world."""

from __future__ import annotations

from lookaway.core import Unmeasurable, UserError
from lookaway.io.world_clips import WorldClip
from lookaway.perception.truth import TRUTH
from lookaway.reports.site.takes import Take


def known_truth(take: Take) -> WorldClip | None:
    """The clip whose card the dataset names for a video; `None` without one, or where it is not about this video."""
    card = take.described.artifacts.get(TRUTH) if take.described else None
    if card is None or not card.is_file() or take.clip is None:
        return None
    try:
        clip = WorldClip.open(card.parent)
    except (Unmeasurable, UserError):
        return None  # metrics that read it abstain with the reason, which stands on the page
    return clip if clip.card.frames == take.clip.frame_count else None
