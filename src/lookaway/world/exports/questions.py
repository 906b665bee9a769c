"""Questions with yes or no, as MemoBench asks them, from what is true of a clip."""

from __future__ import annotations

from lookaway.core import Json
from lookaway.io.clip_card import ClipCard

POSITIVE, NEGATIVE = "Positive", "Negative"


def questions(card: ClipCard) -> list[Json]:
    """`Positive` ones are answered with yes when everything is remembered, `Negative` ones with no."""
    return [
        {"ID": number, "Dimension": dimension, "Dimension Polarity": polarity, "Question": question}
        for number, (dimension, polarity, question) in enumerate(_asked(card), start=1)
    ]


def evaluations(card: ClipCard) -> list[Json]:
    """The same questions, answered about the truth."""
    return [
        {
            "ID": number,
            "Dimension": dimension,
            "Dimension Polarity": polarity,
            "Question": question,
            "Answer": "Yes" if polarity == POSITIVE else "No",
            "Verdict": "Pass",
            "Reasoning": "Known from the simulation.",
        }
        for number, (dimension, polarity, question) in enumerate(_asked(card), start=1)
    ]


def _asked(card: ClipCard) -> list[tuple[str, str, str]]:
    name = card.target.name
    asked = [
        ("Instruction Following", POSITIVE, f"Does the {name} leave the view completely before the end?"),
        ("Instruction Following", NEGATIVE, "Does the camera stand still during the whole video?"),
        (
            "Object and Background",
            POSITIVE,
            f"Does the {name} in the last frame look like the same object as at first?",
        ),
        ("Object and Background", NEGATIVE, f"Is more than one {name} seen at the end?"),
        ("Physics Adherence", NEGATIVE, f"Does the {name} jump to another place while it is in view?"),
        ("Physics Adherence", POSITIVE, f"Does the {name} come back into view?"),
    ]
    for choice in card.question.choices:
        polarity = POSITIVE if choice == card.question.answer else NEGATIVE
        asked.append(("Continuity of Memory", polarity, f"{card.question.question} Is it: {choice}?"))
    return asked
