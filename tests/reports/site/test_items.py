"""Pages of cases: what they hold, what they weigh, and what no text can do to them."""

from __future__ import annotations

import csv
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lookaway.core import Abstention, Failure, Outcome, Reason, Score, Unit
from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import write_items
from tests.reports.site.page import read_page
from tests.support.filmed import FRAMES, HOSTILE, PAIRS, FilmedRun, write_numbers
from tests.support.runs import write_about

MAX_PAGE_BYTES = 300_000


class Text(HTMLParser):
    """The text of a page, and the tags that it is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def whole(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


def built(root: Path, *runs: FilmedRun, outcomes: dict[str, list[Outcome]] | None = None) -> dict[str, str]:
    pages = write_items(load_runs([run.write(outcomes) for run in runs]), root / "site")
    return {case: page.href for case, page in pages.items()}


def page_of(root: Path, run: FilmedRun, outcomes: dict[str, list[Outcome]] | None = None) -> str:
    (href,) = built(root, run, outcomes=outcomes).values()
    return (root / "site" / href).read_text()


def two_models(root: Path) -> FilmedRun:
    run = FilmedRun(root)
    run.film("alpha")
    run.film("beta", fps=16, count=32)
    return run


def test_every_case_has_a_page_with_its_videos_and_scores(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    run.film("alpha", "vase")
    pages = built(tmp_path, run)
    assert list(pages) == ["candle", "vase"]
    text = Text((tmp_path / "site" / pages["candle"]).read_text())
    assert "It burns." in text.whole
    assert "32.000" in text.whole  # the score of the first
    assert "33.000" in text.whole
    assert "too few matches" in text.whole
    assert "7 matches were found, 8 are needed." in text.whole
    data = json.loads(next(word for word in text.words if word.startswith('{"alive"')))
    assert [video["frames"] for video in data["videos"]] == [16, 32]
    assert [band["name"] for band in data["bands"]] == ["visible", "disappeared", "back"]
    assert data["bands"][1] == {"name": "disappeared", "start": 0.5, "end": 1.0}


def test_a_page_is_headed_by_the_case_in_words_with_its_id_beneath(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", "kitchen-yaw_left_60-000", scene="kitchen", action="left_then_right")
    page = read_page(page_of(tmp_path, run))
    assert page.one("h1").text == "Kitchen, camera left and back"
    assert page.one("title").text == "Kitchen, camera left and back · lookaway"
    assert page.one("div", "case-id").text == "kitchen-yaw_left_60-000"


def test_an_id_that_words_add_nothing_to_heads_its_page_and_is_not_repeated(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", "candle")
    page = read_page(page_of(tmp_path, run))
    assert page.one("h1").text == "candle"
    assert page.one("title").text == "candle · lookaway"
    assert page.all("div", "case-id") == []


def test_a_page_and_the_index_give_a_case_one_title(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", "vase:hall/7", scene="hall_7", action="right_then_left")
    (entry,) = write_items(load_runs([run.write()]), tmp_path / "site").values()
    assert read_page((tmp_path / "site" / entry.href).read_text()).one("h1").text == entry.title


def test_all_that_a_page_names_is_there(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    (href,) = built(tmp_path, run).values()
    page = tmp_path / "site" / href
    tags = Text(page.read_text()).tags
    named = [attributes.get(name) for _, attributes in tags for name in ("src", "href")]
    places = {place for place in named if place and not place.startswith("#")} - {"../index.html"}
    assert len(places) >= 6
    for place in places:
        assert (page.parent / place).resolve().is_file(), place
        assert (page.parent / place).resolve().is_relative_to(tmp_path / "site")


def test_two_builds_are_the_same_to_the_byte(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    run.write()
    files = []
    for name in ("first", "second"):
        write_items(load_runs([run.run]), tmp_path / name)
        found = sorted(path for path in (tmp_path / name).rglob("*") if path.is_file())
        files.append({str(path.relative_to(tmp_path / name)): path.read_bytes() for path in found})
    assert files[0] == files[1]


def test_no_case_id_leads_out_of_the_folder_of_items(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "/etc/passwd", "a/b", "..", ".", "-", "x" * 5000, "\u202e", "a\nb", "CON", "%2e%2e%2f"]
    run = FilmedRun(tmp_path)
    for name in names:
        run.film("alpha", name, count=2)
    hrefs = built(tmp_path, run)
    assert sorted(hrefs) == sorted(names)
    for href in hrefs.values():
        assert re.fullmatch(r"items/[a-z0-9-]{8,60}\.html", href)
        assert (tmp_path / "site" / href).resolve().parent == tmp_path / "site" / "items"
    assert len(list((tmp_path / "site/items").iterdir())) == len(names)
    others = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*") if path.is_file()}
    assert others == {"site", "videos", "run"}


def test_ids_that_read_alike_have_pages_of_their_own(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    for name in ("a b", "a-b", "A B", "a/b"):
        run.film("alpha", name, count=2)
    assert len(set(built(tmp_path, run).values())) == 4


def hostile(root: Path) -> FilmedRun:
    run = FilmedRun(root, question=HOSTILE, answer=HOSTILE)
    phases = {HOSTILE: [0, 8], "back": [8, 16]}
    fields = {"subset": HOSTILE, "scene": HOSTILE, "seed": HOSTILE, "action": HOSTILE, "phases": phases}
    run.film(HOSTILE, HOSTILE, prompt=[HOSTILE, HOSTILE], file="'\"><b>.mp4", **fields)
    return run


def test_hostile_text_adds_no_tag_and_no_attribute(tmp_path: Path) -> None:
    metric = f"metric{HOSTILE}"
    units = (Unit(f"unit{HOSTILE}", Score(0.5)), Unit("other", Abstention(Reason.NO_TARGET, HOSTILE)))
    outcomes: dict[str, list[Outcome]] = {
        metric: [Score(0.5, units=units)],
        "b": [Abstention(Reason.NO_TARGET, HOSTILE)],
        "c": [Failure(HOSTILE, HOSTILE)],
    }
    for chosen in (None, outcomes):
        page = page_of(tmp_path, hostile(tmp_path), chosen)
        text = Text(page)
        assert [attributes for tag, attributes in text.tags if tag == "script"] == [
            {"type": "application/json", "id": "player-data"},
            {"src": text.tags[-1][1]["src"]},
        ]
        assert not [name for _, attributes in text.tags for name in attributes if name.startswith("on")]
        assert not [tag for tag, _ in text.tags if tag == "b" and "script" in tag]
        assert "<script>window.hacked" not in page
        assert "\u2028" not in re.findall(r'id="player-data">(.*?)</script>', page, re.DOTALL)[0]
        assert text.whole.count("<script>window.hacked=1</script>") >= 8


def test_a_direction_mark_ends_where_its_text_ends(tmp_path: Path) -> None:
    body = page_of(tmp_path, hostile(tmp_path)).split("<body>")[1].split('<script type="application/json"')[0]
    # A command is copied as it is, and texts of a picture are paragraphs of their own.
    outside = re.sub(r"<(bdi|code|text)\b[^>]*>.*?</\1>", "", body, flags=re.DOTALL)
    assert "\u202e" in body
    assert "\u202e" not in re.sub(r"<[^>]*>", "", outside)


def test_a_caption_of_100_kb_is_cut_and_lies_whole_in_a_file(tmp_path: Path) -> None:
    caption = "<" * 100_000
    run = FilmedRun(tmp_path)
    run.film("alpha", prompt=[caption, "short"])
    page = page_of(tmp_path, run)
    assert len(page.encode()) <= MAX_PAGE_BYTES
    (whole,) = (tmp_path / "site/data/texts").iterdir()
    assert whole.read_text() == caption
    assert "100,000 characters" in page


def test_a_page_of_many_videos_and_metrics_stays_small(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    for model in range(6):
        for seed in range(3):
            run.film(f"actor_{model}", seed=str(seed), count=81, fps=16, prompt=["It burns for a while."] * 5)
    frames = tuple(Unit(f"f{frame}", Score(0.123456 + frame / 700)) for frame in range(81))
    pairs = tuple(Unit(f"f{frame}_f{80 - frame}", Score(frame / 80)) for frame in range(40))
    outcomes: dict[str, list[Outcome]] = {f"metric_{n}": [Score(0.5, units=frames)] * 18 for n in range(6)}
    outcomes |= {f"mbench.object.pairs_{n}": [Score(0.5, raw=1.23456, units=pairs)] * 18 for n in range(6)}
    outcomes |= {f"quiet_{n}": [Abstention(Reason.NO_TARGET, f"{n} pixels.")] * 18 for n in range(4)}
    page = page_of(tmp_path, run, outcomes)
    assert len(page.encode()) <= MAX_PAGE_BYTES
    numbers = next((tmp_path / "site/data/items").iterdir())
    assert len(list(csv.DictReader(numbers.read_text().splitlines()))) == 18 * (16 + 6 * 81 + 6 * 40)


def test_curves_of_a_long_video_are_thinned_and_its_numbers_are_not(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", count=600, fps=16)
    units = tuple(Unit(f"f{frame}", Score(float(frame % 7))) for frame in range(600))
    page = page_of(tmp_path, run, {f"metric_{n}": [Score(0.5, units=units)] for n in range(10)})
    paths = re.findall(r'curve-line[^>]* d="([^"]+)"', page)
    assert len(paths) == 10
    assert sum(path.count("L") + 1 for path in paths) <= 4000
    (numbers,) = (tmp_path / "site/data/items").iterdir()
    assert len(numbers.read_text().splitlines()) == 1 + 10 * 601


def test_a_missing_and_a_broken_video_leave_a_placeholder_with_the_reason(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("whole")
    broken, gone = run.film("broken"), run.film("gone")
    broken.write_bytes(b"no video at all")
    run.write()
    gone.unlink()
    (href,) = (page.href for page in write_items(load_runs([run.run]), tmp_path / "site").values())
    text = Text((tmp_path / "site" / href).read_text())
    assert "missing video" in text.whole
    assert "not a video" in text.whole
    videos = json.loads(next(word for word in text.words if word.startswith('{"alive"')))["videos"]
    assert [video["key"] for video in videos] == ["v2"]
    assert "Files have changed since they were measured: gone/candle/0." in text.whole


@pytest.mark.parametrize("root", ["of the run", "of the secret"])
def test_a_received_run_cannot_publish_a_file_that_it_did_not_measure(tmp_path: Path, root: str) -> None:
    run = two_models(tmp_path)
    run.write()
    secret = write_numbers(tmp_path / "private" / "0.mp4", count=12)
    write_numbers(tmp_path / "private" / "1.mp4", count=13)
    table = pq.read_table(run.run / "rollouts.parquet")
    videos = [str(tmp_path / "private" / f"{number}.mp4") for number in range(len(table))]
    named = table.set_column(table.schema.get_field_index("video"), "video", pa.array(videos))
    pq.write_table(named, run.run / "rollouts.parquet")
    about = json.loads((run.run / "run.json").read_text())
    about |= {"requested": {"reading": {"allow_outside": True}}}
    if root != "of the run":
        about["dataset"] = str(secret.parent)
        (secret.parent / "manifest.jsonl").write_text((run.videos / "manifest.jsonl").read_text())
    write_about(run.run, about)
    write_items(load_runs([run.run]), tmp_path / "site")
    published = {path.read_bytes() for path in (tmp_path / "site").rglob("*.mp4")}
    assert secret.read_bytes() not in published
    assert len(published) == (2 if root == "of the run" else 0)


def test_without_its_dataset_a_page_says_what_is_not_shown(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    run.write()
    run.videos.rename(tmp_path / "moved")
    (href,) = (page.href for page in write_items(load_runs([run.run]), tmp_path / "site").values())
    whole = Text((tmp_path / "site" / href).read_text()).whole
    assert "Captions, phases and reference videos are not shown, since the dataset cannot be read again" in whole
    assert "missing video" in whole
    assert "32.000" in whole


def test_a_changed_caption_is_not_shown_as_what_was_asked(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    run.write()
    manifest = run.videos / "manifest.jsonl"
    manifest.write_text(manifest.read_text().replace("It burns.", "It freezes."))
    (href,) = (page.href for page in write_items(load_runs([run.run]), tmp_path / "site").values())
    whole = Text((tmp_path / "site" / href).read_text()).whole
    assert "It freezes." not in whole
    assert "Files have changed" in whole


def test_a_video_that_two_runs_measured_is_shown_once_with_both_numbers(tmp_path: Path) -> None:
    first = two_models(tmp_path)
    first.write({"a": [Score(0.111), Score(0.222)]})
    first.run.rename(tmp_path / "before")
    first.write({"a": [Score(0.333), Score(0.444)]})
    (href,) = (
        page.href for page in write_items(load_runs([tmp_path / "before", first.run]), tmp_path / "site").values()
    )
    text = Text((tmp_path / "site" / href).read_text())
    assert all(value in text.whole for value in ("0.111", "0.222", "0.333", "0.444"))
    assert len([1 for tag, attributes in text.tags if tag == "figure" and attributes.get("class") == "player"]) == 2
    assert "before" in text.whole


def test_without_phases_the_segments_of_the_caption_are_the_bands(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", phases={})
    page = page_of(tmp_path, run)
    assert '"bands":[{"end":1.0,"name":"segment 1","start":0.0},{"end":2.0,"name":"segment 2","start":1.0}]' in page


def test_phases_beyond_the_end_of_a_video_are_cut(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha", phases={"seen": [0, 99], "never": [50, 60]})
    page = page_of(tmp_path, run)
    assert '"bands":[{"end":2.0,"name":"seen","start":0.0}]' in page


def test_the_judge_is_quoted_with_the_frames_it_saw(tmp_path: Path) -> None:
    text = Text(page_of(tmp_path, two_models(tmp_path)))
    assert "How far did the candle burn?" in text.whole
    assert '{"rating": 4, "reason": "It is shorter."}' in text.whole
    jumps = [attributes["data-jump"] for tag, attributes in text.tags if "data-jump" in attributes]
    assert {"0.0000", "0.6250", "1.8750"} <= set(jumps)


@pytest.mark.parametrize("damage", ["gone", "changed", "no json"])
def test_a_reply_that_is_lost_or_damaged_is_not_quoted(tmp_path: Path, damage: str) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    run.write()
    (reply,) = (run.run / "replies").rglob("*.json")
    if damage == "gone":
        reply.unlink()
    else:
        reply.write_text(reply.read_text().replace("It is shorter", "It is longer") if damage == "changed" else "{")
    (href,) = (page.href for page in write_items(load_runs([run.run]), tmp_path / "site").values())
    whole = Text((tmp_path / "site" / href).read_text()).whole
    assert "It is longer" not in whole
    assert "It is shorter" not in whole.split("Not shown")[0].split("What the judge was asked")[1]
    assert ("not in the run's folder" if damage == "gone" else "damaged") in whole


def test_a_reply_key_that_is_a_path_is_not_followed(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    page = page_of(tmp_path, run, {"a": [Score(0.5, detail={"replies": ["../../../etc/passwd", 7, None]})]})
    assert "What the judge was asked" not in page


def test_units_are_listed_worst_first_and_lead_to_their_frames(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    units = (Unit("f0_f4", Score(0.9)), Unit("f0_f8", Score(0.1)), Unit("segment1", Score(0.5)))
    page = page_of(tmp_path, run, {PAIRS: [Score(0.5, units=units)]})
    rows = page.split('class="units"')[1].split("</details>")[0]
    assert rows.index("f0_f8") < rows.index("segment1") < rows.index("f0_f4")
    assert re.findall(r'data-jump="([\d.]+)"', rows) == ["0.0000", "1.0000", "1.0000", "0.0000", "0.5000"]


def test_where_lower_is_better_the_highest_value_is_the_worst(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    units = (Unit("f0_f4", Score(0.1)), Unit("f0_f8", Score(0.9)))
    page = page_of(tmp_path, run, {"mse": [Score(0.5, units=units)]})
    rows = page.split('class="units"')[1].split("</details>")[0]
    assert rows.index("f0_f8") < rows.index("f0_f4")


def test_frame_values_are_curves_and_gaps_stay_gaps(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    gap = Abstention(Reason.NO_TARGET, "not seen")
    units = tuple(Unit(f"f{n}", gap if n == 8 else Score(float(n))) for n in range(16))
    page = page_of(tmp_path, run, {FRAMES: [Score(1.0, units=units)]})
    (path,) = re.findall(r'curve-line[^>]* d="([^"]+)"', page)
    assert path.count("M") == 2
    assert path.count("L") == 13
    assert "details" in page.split('class="curve"')[1]


def test_the_command_names_model_subset_metrics_and_quotes_everything(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("a'; rm -rf ~; '", subset="left & right")
    whole = Text(page_of(tmp_path, run)).whole
    command = whole[whole.index("lookaway eval ") :]
    assert "'--models=a'\"'\"'; rm -rf ~; '\"'\"''" in command
    assert "'--subsets=left & right'" in command
    assert f"--metrics={FRAMES},{PAIRS},state_progress" in command


def test_hashes_of_files_and_locks_stand_on_the_page(tmp_path: Path) -> None:
    run = two_models(tmp_path)
    page = page_of(tmp_path, run)
    for rollout in load_runs([run.run])[0].rollouts.values():
        assert rollout.content in page
    assert "a" * 32 in page


def test_nothing_is_measured_yet(tmp_path: Path) -> None:
    run = FilmedRun(tmp_path)
    run.film("alpha")
    run.write()
    for part in (run.run / "outcomes").glob("*.parquet"):
        part.unlink()
    (href,) = (page.href for page in write_items(load_runs([run.run]), tmp_path / "site").values())
    assert "Nothing has been measured on this case yet." in (tmp_path / "site" / href).read_text()


def test_a_page_lets_nothing_in_from_outside(tmp_path: Path) -> None:
    page = page_of(tmp_path, two_models(tmp_path))
    policy: dict[str, Any] = next(
        dict(attributes) for tag, attributes in Text(page).tags if attributes.get("http-equiv")
    )
    assert policy["content"].startswith("default-src 'none'")
    assert "unsafe" not in policy["content"]
    assert not re.search(r'(?:src|href)="(?:https?:)?//', page)
    assert ' style="' not in page
