"""A report as one file: everything is inside, nothing leads out, and what is too large is refused in words."""

from __future__ import annotations

import base64
import re
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from lookaway.core import Abstention, Reason, Score, UserError
from lookaway.reports.case_page.videos import case_videos
from lookaway.reports.runs import load_runs
from lookaway.reports.site import index, media, one_file, stills
from lookaway.reports.site.building import build_site
from lookaway.reports.site.facts import MAX_CHARACTERS
from lookaway.reports.site.one_file import MAX_BYTES, folded_cases, write_one_file
from lookaway.reports.site.rendering import slug
from tests.reports.site.page import Node, read_page
from tests.reports.site.simulated import Simulated
from tests.reports.site.test_items_parts import mind_page
from tests.support.clips import numbered_frames, write_clip
from tests.support.command import lookaway
from tests.support.filmed import HOSTILE, PAIRS, FilmedRun


def filmed_run(root: Path) -> FilmedRun:
    """Two cases, of three videos and of one."""
    filmed = FilmedRun(root)
    filmed.film("alpha", count=8)
    filmed.film("beta", count=8)
    filmed.film("alpha", count=8, seed="1")
    filmed.film("alpha", "vase", count=8)
    return filmed


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of that run, alone in a folder."""
    root = tmp_path_factory.mktemp("written")
    return write_one_file(load_runs([filmed_run(root).write()]), root / "alone" / "report.html")


@pytest.fixture(scope="module")
def page(written: Path) -> Node:
    return read_page(written.read_text())


def content(address: str) -> bytes:
    assert re.match(r"data:[a-z./]+;base64,", address)
    return base64.b64decode(address.partition(",")[2], validate=True)


def case_of(page: Node, name: str) -> Node:
    return page.one("details", "case", id=f"case-{slug(name)}")


def words(node: Node) -> str:
    return re.sub(r"\s+", " ", node.text)


def data_of(page: Node) -> dict[str, Node]:
    return {link.attributes["download"]: link for link in page.all("a") if "download" in link.attributes}


def test_the_file_is_all_that_is_written(written):
    assert [path.name for path in written.parent.iterdir()] == ["report.html"]


def test_no_link_and_no_picture_leads_out_of_the_file(page):
    named = [node.attributes[key] for node in page.all() for key in ("href", "src", "srcset") if key in node.attributes]
    assert len(named) > 20
    assert [name for name in named if not name.startswith(("#", "data:"))] == []
    identities = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(set(identities)) == len(identities)
    assert {name[1:] for name in named if name.startswith("#")} <= set(identities)
    pointed = {name for node in page.all() for name in node.attributes.get("aria-labelledby", "").split()}
    assert pointed <= set(identities)


def test_nothing_can_be_played_and_nothing_waits_for_a_player(page):
    assert page.all("video") == page.all("source") == page.all("link") == page.all("button") == []
    assert len(page.all("script")) == 1


def test_the_policy_lets_in_only_what_the_file_holds(page):
    (policy,) = (n.attributes["content"] for n in page.all("meta") if n.attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "self" not in policy
    assert "media-src" not in policy
    assert "unsafe" not in policy


def test_every_case_is_folded_in_the_section_of_cases_under_its_own_address(page):
    section = page.one("section", None, **{"aria-labelledby": "cases"})
    cases = section.all("details", "case")
    assert [case.attributes["id"] for case in cases] == [f"case-{slug(name)}" for name in ("candle", "vase")]
    assert not any("open" in case.attributes for case in cases)
    assert [case.one("h3").text for case in cases] == ["candle", "vase"]
    counts = [case.one("summary").one("span", "meta").text.rpartition(" · ")[2] for case in cases]
    assert counts == ["3 videos", "1 video"]
    assert case_of(page, "candle").all("a")[0].attributes["href"] == f"#case-{slug('candle')}"


def test_a_folded_case_is_headed_by_its_words_with_its_id_beside_them(tmp_path):
    run = FilmedRun(tmp_path)
    run.film("alpha", "kitchen-yaw_left_60-000", scene="kitchen", action="left_then_right")
    (case,) = case_videos(load_runs([run.write()]), None)
    summary = read_page(str(folded_cases([case]))).one("summary")
    assert summary.one("h3").text == "Kitchen, camera left and back"
    assert summary.one("span", "case-id").text == "kitchen-yaw_left_60-000"


def test_a_case_shows_every_video_by_eight_frames(page):
    case = case_of(page, "candle")
    rows = case.all("div", "film-row")
    assert [words(row).strip() for row in rows] == ["alpha seed 0", "alpha seed 1", "beta seed 0"]
    pictures = [row.one("img").attributes for row in rows]
    assert [picture["alt"] for picture in pictures] == [
        f"Eight frames of {model}, seed {seed}" for model, seed in (("alpha", 0), ("alpha", 1), ("beta", 0))
    ]
    for picture in pictures:
        assert picture["loading"] == "lazy"
        assert content(picture["src"]).startswith(b"\xff\xd8\xff")


def test_a_case_has_scores_reasons_and_commands(page):
    case = case_of(page, "candle")
    rows = {row.one("th").text: [cell.text for cell in row.all("td")] for row in case.one("tbody").all("tr")}
    (pairs,) = (cells for name, cells in rows.items() if name.startswith(PAIRS))
    assert pairs == ["0.500 1.25", "0.500 1.25", "too few matches"]
    (reason,) = case.one("ul", "reasons").all("li")
    assert "Why there is no value" in case.text
    assert words(reason).strip() == f"too few matches {PAIRS} 7 matches were found, 8 are needed. beta seed 0"
    commands = [command.text for command in case.all("code")]
    assert len(commands) == 2
    assert all(command.startswith("lookaway eval ") and "--case=candle" in command for command in commands)
    assert "It burns." in case.text
    assert "(CSV)" not in case.text
    assert "Why there is no value" not in case_of(page, "vase").text


def test_data_files_are_those_of_the_folder_to_the_byte(written, page, tmp_path):
    build_site(load_runs([written.parent.parent / "run"]), tmp_path / "site")
    beside = {path.name: path.read_bytes() for path in (tmp_path / "site" / "data").iterdir() if path.is_file()}
    assert {"table.csv", "pairs.csv"} < set(beside)
    assert {Path(name).suffix for name in beside} == {".csv", ".json", ".parquet"}
    assert {name: content(link.attributes["href"]) for name, link in data_of(page).items()} == beside


def test_all_else_is_what_the_index_of_a_folder_shows(written, page, tmp_path):
    index_page = read_page(build_site(load_runs([written.parent.parent / "run"]), tmp_path / "site").read_text())
    of_cases = ("All cases;", "each case has a page with all videos")
    for name in ("table", "figure", "h1", "h2"):
        outside = {id(node) for case in page.all("details", "case") for node in case.all(name)}
        found = [node.text for node in page.all(name) if id(node) not in outside]
        own = [node.text for node in index_page.all(name) if not any(words in node.text for words in of_cases)]
        assert own == found, name


def test_sections_that_a_folder_moves_to_pages_stay_inside(tmp_path, monkeypatch):
    skills = {"good": 0.8, "poor": 0.3}
    run = Simulated(path=tmp_path / "run", skills=skills, metrics=["mbencht.environment.rendering_style"]).write()
    whole = write_one_file(load_runs([run.path]), tmp_path / "a.html").read_bytes()
    monkeypatch.setattr(index, "ROOM", 0)
    assert write_one_file(load_runs([run.path]), tmp_path / "b.html").read_bytes() == whole
    assert read_page(whole.decode()).all("table", "matrix") != []
    assert read_page(whole.decode()).all("p", "elsewhere") == []


def test_two_files_of_one_run_are_the_same_to_the_byte(written, tmp_path):
    again = write_one_file(load_runs([written.parent.parent / "run"]), tmp_path / "report.html")
    assert again.read_bytes() == written.read_bytes()


def test_a_title_is_that_of_the_page(tmp_path):
    run = Simulated(path=tmp_path / "run", skills={}, metrics=["mbencht.environment.rendering_style"]).write()
    page = read_page(write_one_file(load_runs([run.path]), tmp_path / "a.html", title="A & B").read_text())
    assert page.one("h1").text == "A & B"
    assert page.all("section", None, **{"aria-labelledby": "cases"}) == []


def test_no_video_is_encoded_or_copied(tmp_path, monkeypatch):
    monkeypatch.setattr(media, "write_video", None)
    monkeypatch.setattr(media, "_copy", None)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha", file="a.mkv")
    write_clip(filmed.videos / "a.mkv", numbered_frames(6), pixel_format="yuv444p")
    page = read_page(write_one_file(load_runs([filmed.write()]), tmp_path / "out" / "a.html").read_text())
    assert len(page.all("img")) == 1
    assert list((tmp_path / "temporary").iterdir()) == []


def test_a_video_that_cannot_be_shown_says_why(tmp_path):
    filmed = FilmedRun(tmp_path)
    filmed.film("whole", count=4)
    broken, gone = filmed.film("broken"), filmed.film("gone")
    broken.write_bytes(b"no video at all")
    filmed.write()
    gone.unlink()
    page = read_page(write_one_file(load_runs([filmed.run]), tmp_path / "a.html").read_text())
    rows = {words(row.one("span", "who")).split()[0]: row for row in page.all("div", "film-row")}
    assert words(rows["broken"].one("p", "none")).startswith("not a video 1.mp4: ")
    assert words(rows["gone"].one("p", "none")).startswith("missing video 2.mp4: ")
    assert rows["whole"].all("p") == []
    assert "Files have changed since they were measured: gone/candle/0." in page.text


def hostile_run(root: Path) -> Path:
    filmed = FilmedRun(root)
    fields = {"subset": HOSTILE, "scene": HOSTILE, "seed": HOSTILE, "action": HOSTILE}
    filmed.film(HOSTILE, HOSTILE, prompt=[HOSTILE, HOSTILE], file="'\"><b>.mp4", **fields)
    filmed.film(HOSTILE * 30, f"../../{HOSTILE * 30}", file="gone.mp4", **fields).write_bytes(b"")
    silent = [Abstention(Reason.NO_TARGET, HOSTILE)] * 2
    return filmed.write({f"metric{HOSTILE}": [Score(0.5), Score(0.25)], "silent": silent})


def test_hostile_text_is_shown_and_adds_no_element_and_no_attribute(tmp_path):
    text = write_one_file(load_runs([hostile_run(tmp_path)]), tmp_path / "a.html", title=HOSTILE).read_text()
    page = read_page(text)
    assert "<script>window.hacked" not in text
    assert len(page.all("script")) == 1
    assert [node for node in page.all("img") if not node.attributes["src"].startswith("data:image/jpeg;")] == []
    assert not [name for node in page.all() for name in node.attributes if name.startswith("on") or name == "style"]
    assert [node for bdi in page.all("bdi") for node in bdi.all()] == []
    for case in page.all("details", "case"):
        assert case.text.count("<script>window.hacked=1</script>") >= 8
        assert re.fullmatch(r"case-[a-z0-9-]{8,60}", case.attributes["id"])


def test_a_direction_mark_ends_where_its_text_ends(tmp_path):
    text = write_one_file(load_runs([hostile_run(tmp_path)]), tmp_path / "a.html").read_text()
    cases = text.split('<section aria-labelledby="cases">')[1].split('<section aria-labelledby="reproduce">')[0]
    outside = re.sub(r"<(bdi|code)\b[^>]*>.*?</\1>", "", cases, flags=re.DOTALL)
    assert "\u202e" in cases
    assert "\u202e" not in re.sub(r"<[^>]*>", "", outside)


def test_a_caption_of_100_kb_is_cut_and_its_length_is_told(tmp_path):
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha", count=4, prompt=["<" * 100_000, "short"])
    page = read_page(write_one_file(load_runs([filmed.write()]), tmp_path / "a.html").read_text())
    caption = page.one("ol", "prompt").all("li")[0]
    assert caption.one("details", "long").children[1].text == "<" * MAX_CHARACTERS
    assert caption.all("span", "fine")[-1].text == "The first 2,000 of 100,000 characters"
    assert page.one("ol", "prompt").all("li")[1].text == "short"


def test_a_command_that_is_cut_says_so(tmp_path):
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha", "x" * 3000, count=4)
    page = read_page(write_one_file(load_runs([filmed.write()]), tmp_path / "a.html").read_text())
    assert re.search(r"The first 2,000 of 3,\d\d\d characters", page.one("div", "again").text)


def test_the_limit_is_15_mb_and_belongs_to_what_fits(written, monkeypatch, tmp_path):
    assert MAX_BYTES == 15_000_000
    runs = load_runs([written.parent.parent / "run"])
    monkeypatch.setattr(one_file, "MAX_BYTES", written.stat().st_size)
    assert write_one_file(runs, tmp_path / "a.html").is_file()
    monkeypatch.setattr(one_file, "MAX_BYTES", written.stat().st_size - 1)
    with pytest.raises(UserError, match="nothing was written"):
        write_one_file(runs, tmp_path / "b.html")
    assert not (tmp_path / "b.html").exists()


def kilobytes(text: str, part: str) -> float:
    (found,) = re.findall(rf"{part} ([0-9.]+) kB", text)
    return float(found)


def test_what_is_too_large_names_its_parts_and_leaves_what_was_there(written, page, monkeypatch, tmp_path):
    (tmp_path / "a.html").write_text("from before")
    strips = [node.attributes["src"] for node in page.all("img")]
    monkeypatch.setattr(one_file, "MAX_BYTES", written.stat().st_size - 1)
    with pytest.raises(UserError) as refused:
        write_one_file(load_runs([written.parent.parent / "run"]), tmp_path / "a.html")
    said = str(refused.value)
    data = {name: len(link.attributes["href"]) for name, link in data_of(page).items()}
    outcomes = sum(count for name, count in data.items() if name.endswith(".parquet"))
    assert kilobytes(said, "would be") == pytest.approx(written.stat().st_size / 1000, abs=0.1)
    assert kilobytes(said, "Filmstrips of 4 videos take") == pytest.approx(sum(map(len, strips)) / 1000, abs=0.1)
    assert kilobytes(said, "outcomes") == pytest.approx(outcomes / 1000, abs=0.1)
    assert kilobytes(said, "files") == pytest.approx((sum(data.values()) - outcomes) / 1000, abs=0.1)
    parts = ("Filmstrips of 4 videos take", "outcomes", "files", "itself")
    assert sum(kilobytes(said, part) for part in parts) == pytest.approx(kilobytes(said, "would be"), abs=0.3)
    assert said.endswith(
        "Leave the filmstrips out with --without-filmstrips, or write the folder, without --single-file."
    )
    assert (tmp_path / "a.html").read_text() == "from before"
    assert [path.name for path in tmp_path.iterdir()] == ["a.html"]


def test_the_true_video_is_shown_first_and_is_among_those_that_take_the_room(tmp_path, monkeypatch):
    mind_page(tmp_path)
    runs = load_runs([tmp_path / "run"])
    written = write_one_file(runs, tmp_path / "a.html")
    rows = read_page(written.read_text()).all("div", "film-row")
    assert len(rows) == 2
    assert rows[0].one("img").attributes["alt"] == "Eight frames of the reference video"
    monkeypatch.setattr(one_file, "MAX_BYTES", written.stat().st_size - 1)
    with pytest.raises(UserError, match="Filmstrips of 2 videos take"):
        write_one_file(runs, tmp_path / "b.html")


def test_only_what_helps_is_advised(tmp_path, monkeypatch):
    runs = [
        Simulated(path=tmp_path / name, skills={name: 0.5}, metrics=["x.environment.rendering_style"], scenes=2).write()
        for name in ("one", "two")
    ]
    monkeypatch.setattr(one_file, "MAX_BYTES", 1000)
    for strips in (True, False):
        with pytest.raises(UserError) as refused:
            write_one_file(load_runs([run.path for run in runs]), tmp_path / "a.html", strips=strips)
        assert "ilmstrips" not in str(refused.value)
        assert str(refused.value).endswith("Give fewer runs, or write the folder, without --single-file.")


def test_without_filmstrips_no_video_is_opened_and_all_else_is_there(written, page, tmp_path, monkeypatch):
    monkeypatch.setattr(stills, "Video", None)
    monkeypatch.setattr(one_file, "MAX_BYTES", written.stat().st_size - 1)
    bare_file = write_one_file(load_runs([written.parent.parent / "run"]), tmp_path / "a.html", strips=False)
    bare = read_page(bare_file.read_text())
    assert bare.all("img") == bare.all("div", "film-row") == []
    assert "Filmstrips" not in bare.text
    assert [table.text for table in bare.all("table")] == [table.text for table in page.all("table")]
    assert len(bare.all("details", "case")) == 2
    assert len(bare.all("ul", "reasons")) == 1


@pytest.fixture
def run(tmp_path) -> Path:
    """A run without videos."""
    metrics = ["mbencht.environment.rendering_style"]
    return Simulated(path=tmp_path / "run", skills={"a": 0.5}, metrics=metrics, scenes=2).write().path


def test_the_command_writes_the_file(run, tmp_path):
    target = tmp_path / "new" / "report.HTML"
    result = lookaway("report", run, "-o", target, "--single-file", "--title", "A & B")
    assert (result.code, result.err) == (0, "")
    assert re.fullmatch(rf"Wrote {re.escape(str(target))} \([0-9.]+ kB\)\n", result.out.replace("\n(", " ("))
    page = read_page(target.read_text())
    assert page.one("h1").text == "A & B"
    assert "missing video" in page.one("details", "case", id=f"case-{slug('environment:sample_000')}").text
    assert lookaway("report", run, "-o", target, "--single-file", "--without-filmstrips").code == 0
    assert "missing video" not in target.read_text()


def test_filmstrips_are_left_out_of_a_single_file_only(run, tmp_path):
    result = lookaway("report", run, "-o", tmp_path / "site", "--without-filmstrips")
    assert result.code == 2
    assert "--without-filmstrips only applies with --single-file" in result.err
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("site", "ends in .html"), ("a.htm", "ends in .html"), ("folder.html", "is a folder")]
)
def test_what_is_no_name_of_a_file_is_refused_in_words(run, tmp_path, name, words):
    (tmp_path / "folder.html").mkdir()
    result = lookaway("report", run, "-o", tmp_path / name, "--single-file")
    assert result.code == 2
    assert words in " ".join(result.err.split())
    assert not (tmp_path / name).is_file()


def test_a_place_that_cannot_be_written_is_the_users_to_put_right(run, tmp_path):
    (tmp_path / "in_the_way").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        write_one_file(load_runs([run]), tmp_path / "in_the_way" / "a.html")


def test_more_reasons_than_a_page_shows_are_in_the_outcomes(tmp_path):
    filmed = FilmedRun(tmp_path)
    filmed.film("alpha", count=4)
    run = filmed.write({PAIRS: [Abstention(Reason.NO_TARGET, "none.")]})
    (case,) = case_videos(load_runs([run]), None)
    (video,) = case.videos
    many = tuple(replace(video.outcomes[0], message=f"none of {number}.") for number in range(90))
    page = read_page(folded_cases([replace(case, videos=(replace(video, outcomes=many),))]))
    assert len(page.one("ul", "reasons").all("li")) == 80
    assert "10 more are in the files of outcomes, under Data." in page.text
