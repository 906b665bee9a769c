"""`lookaway weights`."""

from __future__ import annotations

import click

from lookaway.cli.options import json_option

EXIT_AMISS = 2


@click.group("weights")
def weights_command() -> None:
    """List, fetch and check the published weights of networks.

    Only `lookaway weights fetch` downloads weights. They are stored in the Hugging Face cache: HF_HOME, HF_HUB_CACHE,
    HF_ENDPOINT, HF_HUB_OFFLINE and HF_TOKEN are honoured.
    """


@weights_command.command("list")
@json_option
def list_command(as_json: bool) -> None:
    """List all published weights that extractors load, and whether they are installed."""
    from lookaway.perception.weights import CATALOGUE, published
    from lookaway.reports.numbers import print_rows

    rows = [
        {
            "weights": name,
            "here": "yes" if published(name).declines() is None else "no",
            "MB": listing.megabytes,
            "licence": listing.licence,
            "gate": listing.gate,
            "source": listing.source,
            "purpose": listing.purpose,
        }
        for name, listing in CATALOGUE.items()
    ]
    print_rows(rows, as_json=as_json, right=("MB",))


@weights_command.command("fetch")
@click.argument("names", nargs=-1, required=True)
@click.option("--force", is_flag=True, help="Fetch again even if installed.")
def fetch_command(names: tuple[str, ...], force: bool) -> None:
    """Fetch the weights NAMES and check them against the published hashes."""
    from lookaway.perception.weights.fetching import fetch
    from lookaway.reports.numbers import print_lines

    for name in names:
        found = fetch(name, force=force)
        print_lines([f"{name}: {file.name} {file.sha256}" for file in found.files])


@weights_command.command("check")
@click.argument("names", nargs=-1)
@json_option
def check_command(names: tuple[str, ...], as_json: bool) -> int:
    """Compare the weights NAMES, or all that are installed, with the published hashes.

    Exits with 2 if a file is missing or differs from the published one.
    """
    from lookaway.core import UnknownName
    from lookaway.perception.weights import CATALOGUE, published
    from lookaway.perception.weights.fetching import check
    from lookaway.reports.numbers import print_rows

    for name in names:
        if name not in CATALOGUE:
            raise UnknownName("published weights", name, CATALOGUE)
    rows = []
    for name in names or [known for known in CATALOGUE if published(known).declines() is None]:
        rows += [
            {"weights": name, "file": file, "verdict": _verdict(found, expected), "SHA-256": found}
            for file, found, expected in check(name)
        ]
    print_rows(rows, as_json=as_json)
    return EXIT_AMISS if any(row["verdict"] in (MISSING, OTHER) for row in rows) else 0


AS_PUBLISHED, MISSING, OTHER = "as published", "missing", "not what was published"


def _verdict(found: str, expected: str) -> str:
    if not found:
        return MISSING
    if not expected:
        return "here, no hash was published"
    return AS_PUBLISHED if found.startswith(expected) else OTHER
