"""Item pages as people meet them: in a browser, from a folder, with the keyboard, and full of hostile text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lookaway.io.pictures import picture_pixels
from lookaway.reports.case_page.curves import PLOT
from lookaway.reports.runs import load_runs
from lookaway.reports.site.building import build_site, write_items
from tests.reports.site.test_items_parts import mind_page
from tests.support.browser import Visit, serious_violations, visit
from tests.support.filmed import HOSTILE, FilmedRun

pytestmark = pytest.mark.browser

SHOWN = """() => [...document.querySelectorAll(".player video")].map((video) => ({
    key: video.closest(".player").id, time: video.currentTime, frame: Number(video.closest(".player").dataset.frame),
    seconds: video.duration, seeking: video.seeking, ready: video.readyState, paused: video.paused,
}))"""
SETTLED = """(frames) => [...document.querySelectorAll(".player video")].every((video, n) =>
    video.readyState >= 2 && !video.seeking && Number(video.closest(".player").dataset.frame) === frames[n])"""
PAUSE_AFTER_HALF_A_SECOND = """() => {
    const isThere = parseFloat(document.getElementById("clock").textContent) > 0.5;
    if (isThere) document.getElementById("play").click();
    return isThere;
}"""
"""In the page itself: a busy machine would press a key too late."""


def site(root: Path, filmed: FilmedRun, **outcomes: Any) -> Path:
    """The page of the only case of a run."""
    (href,) = (page.href for page in write_items(load_runs([filmed.write(**outcomes)]), root / "site").values())
    return root / "site" / href


@pytest.fixture(scope="module")
def page_of_three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three videos: of 8 frames a second, of 16, and of 8 that ends sooner."""
    root = tmp_path_factory.mktemp("three")
    filmed = FilmedRun(root)
    filmed.film("alpha", count=16, fps=8)
    filmed.film("beta", count=32, fps=16)
    filmed.film("gamma", count=8, fps=8)
    return site(root, filmed)


def wait_for_frames(opened: Visit, *frames: int) -> list[dict[str, Any]]:
    """Wait until every player shows the frame; what they show then."""
    opened.page.wait_for_function(SETTLED, arg=list(frames))
    return opened.page.evaluate(SHOWN)


def scrub(opened: Visit, seconds: float) -> None:
    opened.page.evaluate(
        """(seconds) => { const scrubber = document.getElementById("scrubber"); scrubber.value = String(seconds);
        scrubber.dispatchEvent(new Event("input")); scrubber.dispatchEvent(new Event("change")); }""",
        seconds,
    )


def test_no_video_is_loaded_before_somebody_asks_for_it(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.wait_for_selector(".player video")
        assert [video["ready"] for video in opened.page.evaluate(SHOWN)] == [0, 0, 0]
        assert not [url for url in opened.requests if url.endswith(".mp4")]


def test_scrubbing_moves_all_videos_to_the_same_time_within_one_frame(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        for seconds, frames in ((0.8, (6, 12, 6)), (0.13, (1, 2, 1)), (1.99, (15, 31, 7)), (0.0, (0, 0, 0))):
            scrub(opened, seconds)
            shown = wait_for_frames(opened, *frames)
            for video in shown[:2]:
                assert abs(video["time"] - seconds) <= 1 / 8
        assert opened.errors == []


def test_what_is_seen_is_the_frame_that_is_named(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        brightness = []
        for seconds, frames in ((0.01, (0, 0, 0)), (0.76, (6, 12, 6))):
            scrub(opened, seconds)
            wait_for_frames(opened, *frames)
            opened.page.wait_for_timeout(200)  # until it is painted
            shots = [video.screenshot() for video in opened.page.locator(".player video").all()]
            brightness.append([float(picture_pixels(shot)[20:40, 40:80].mean()) for shot in shots])
        rise = [after - before for before, after in zip(*brightness, strict=True)]
        assert rise == pytest.approx([36, 72, 36], abs=9)  # six more with every frame


def test_a_video_that_ends_sooner_stays_on_its_last_frame(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three, fragment="#t=1.5") as opened:
        *_, short = wait_for_frames(opened, 12, 24, 7)
        assert short["time"] <= 1.0


def test_many_scrubs_at_once_end_where_the_last_one_went(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        for step in range(40):
            scrub(opened, (step * 37 % 40) / 20)
        scrub(opened, 0.5)
        wait_for_frames(opened, 4, 8, 4)


def test_keys_step_by_frames_and_go_to_both_ends(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("body").click(position={"x": 2, "y": 2})
        press = opened.page.keyboard.press
        press("ArrowRight")
        press("ArrowRight")
        wait_for_frames(opened, 2, 4, 2)
        press("ArrowLeft")
        wait_for_frames(opened, 1, 2, 1)
        press("Shift+ArrowRight")
        wait_for_frames(opened, 9, 18, 7)
        press("End")
        wait_for_frames(opened, 15, 30, 7)
        press("ArrowRight")
        wait_for_frames(opened, 15, 30, 7)
        press("Home")
        wait_for_frames(opened, 0, 0, 0)


def test_a_picked_player_is_enlarged_and_its_frames_are_the_steps(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("body").click(position={"x": 2, "y": 2})
        opened.page.keyboard.press("2")
        assert opened.page.locator(".player.picked").get_attribute("data-name") == "beta, seed 0"
        opened.page.keyboard.press("ArrowRight")
        wait_for_frames(opened, 0, 1, 0)
        opened.page.keyboard.press("2")
        assert opened.page.locator(".player.picked").count() == 0


def test_keys_that_were_switched_off_do_nothing(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("#keys").uncheck()
        opened.page.locator("body").click(position={"x": 2, "y": 2})
        opened.page.keyboard.press("ArrowRight")
        opened.page.keyboard.press("2")
        assert opened.page.locator("#clock").inner_text() == "0.000 s"
        assert opened.page.locator(".player.picked").count() == 0


def test_space_on_a_button_presses_the_button_alone(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("[data-step='1']").focus()
        opened.page.keyboard.press(" ")
        wait_for_frames(opened, 1, 2, 1)
        assert opened.page.locator("#play").get_attribute("aria-pressed") == "false"


def test_playing_keeps_the_videos_together_and_ends_on_the_last_frame(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("#rate").select_option("0.25")
        opened.page.locator("body").click(position={"x": 2, "y": 2})
        opened.page.keyboard.press(" ")
        opened.page.wait_for_function(PAUSE_AFTER_HALF_A_SECOND, polling="raf")
        opened.page.wait_for_function(
            "() => [...document.querySelectorAll('video')].every((v) => v.paused && !v.seeking)"
        )
        clock = float(opened.page.locator("#clock").inner_text().split()[0])
        first, second, _ = opened.page.evaluate(SHOWN)
        assert 0.5 < clock < 2
        assert abs(first["time"] - clock) <= 1 / 8
        assert abs(second["time"] - clock) <= 1 / 16
        assert opened.page.url.endswith(f"#t={clock:.3f}")  # settled: every video in the middle of its frame
        assert [v["time"] * 8 * n % 1 for n, v in ((1, first), (2, second))] == pytest.approx([0.5, 0.5], abs=0.01)
        opened.page.keyboard.press(" ")
        opened.page.wait_for_function("() => document.getElementById('play').getAttribute('aria-pressed') === 'false'")
        wait_for_frames(opened, 15, 30, 7)


def test_a_link_with_a_time_opens_there_and_the_address_follows(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three, fragment="#t=0.5") as opened:
        wait_for_frames(opened, 4, 8, 4)
        assert opened.page.locator("#phase").inner_text() == "disappeared"
        opened.page.locator("body").click(position={"x": 2, "y": 2})
        opened.page.keyboard.press("ArrowRight")
        wait_for_frames(opened, 5, 10, 5)
        assert opened.page.url.endswith("#t=0.625")


def test_the_cursor_of_a_curve_follows_the_clock(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three, fragment="#t=1") as opened:
        wait_for_frames(opened, 8, 16, 7)
        cursor = opened.page.locator(".curve .cursor").first
        assert float(cursor.get_attribute("x1") or 0) == pytest.approx((PLOT["left"] + PLOT["right"]) / 2, abs=1)


def test_a_row_of_a_table_goes_to_its_frame(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        opened.page.locator("details.units summary").first.click()
        opened.page.locator("details.units .jump", has_text="frame 8").first.click()
        wait_for_frames(opened, 8, 16, 7)


def test_no_more_than_six_videos_are_alive(browser: Any, tmp_path: Path) -> None:
    filmed = FilmedRun(tmp_path)
    for number in range(8):
        filmed.film(f"model{number}", count=4, fps=4)
    with visit(browser, site(tmp_path, filmed)) as opened:
        videos, boxes = opened.page.locator("video"), opened.page.locator("[data-pick]")
        assert (videos.count(), boxes.count()) == (6, 8)
        assert boxes.nth(7).is_disabled()
        scrub(opened, 0.5)
        opened.page.locator(".picker summary").click()
        boxes.nth(0).uncheck()
        boxes.nth(7).check()
        assert videos.count() == 6
        wait_for_frames(opened, *[2] * 6)
        assert boxes.nth(0).is_disabled()
        assert opened.page.locator(".player:visible").count() == 6


def test_the_command_can_be_copied_or_is_selected(browser: Any, page_of_three: Path) -> None:
    with visit(browser, page_of_three) as opened:
        button = opened.page.locator("[data-copy]").first
        button.click()
        opened.page.wait_for_function(
            "(button) => button.textContent !== button.dataset.label", arg=button.element_handle()
        )
        if button.inner_text() != "Copied":
            selected = opened.page.evaluate("() => getSelection().toString()")
            assert selected.startswith("lookaway eval ")


def hostile_page(root: Path) -> Path:
    filmed = FilmedRun(root, question=HOSTILE + "?", answer=HOSTILE)
    fields = {"subset": HOSTILE, "scene": HOSTILE, "seed": HOSTILE, "action": HOSTILE, "file": "a'\"<b>&.mp4"}
    count = {"phases": {HOSTILE: [0, 4], "</script>": [4, 16]}}
    filmed.film(HOSTILE, f"../../{HOSTILE}", prompt=[(HOSTILE + " ") * 1100, "</textarea></style>"], **fields, **count)
    filmed.film(HOSTILE * 30, f"../../{HOSTILE}", **{**fields, "file": "b.mp4"})
    return site(root, filmed)


def test_hostile_text_is_shown_and_does_nothing(browser: Any, tmp_path: Path) -> None:
    page = hostile_page(tmp_path)
    with visit(browser, page) as opened:
        scrub(opened, 0.5)
        wait_for_frames(opened, 4, 4)
        for summary in opened.page.locator("details > summary").all():
            summary.evaluate("(element) => { element.parentElement.open = true; }")
        assert opened.page.evaluate("() => window.hacked") is None
        assert opened.page.locator("[onerror], main script, bdi *").count() == 0
        assert "<script>window.hacked=1</script>" in opened.page.locator(".case-id").inner_text()
        assert "<script>window.hacked=1</script>" in opened.page.locator(".question").first.inner_text()
        assert (opened.dialogs, opened.went_out(), opened.errors) == ([], [], [])


def test_a_page_asks_for_nothing_but_files_beside_it(browser: Any, page_of_three: Path) -> None:
    root = page_of_three.parent.parent.as_uri()
    with visit(browser, page_of_three, fragment="#t=0.5") as opened:
        wait_for_frames(opened, 4, 8, 4)
        assert opened.requests
        assert all(url.startswith(root) for url in opened.requests)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_serious(browser: Any, page_of_three: Path, dark: bool, width: int) -> None:
    with visit(browser, page_of_three, dark=dark, width=width) as opened:
        opened.page.evaluate("() => { for (const d of document.querySelectorAll('details')) d.open = true; }")
        assert serious_violations(opened.page) == []
        assert opened.page.evaluate("() => document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious_on_the_index_and_it_leads_to_the_items(
    browser: Any, tmp_path: Path, dark: bool
) -> None:
    filmed = FilmedRun(tmp_path)
    for number in range(3):
        filmed.film("alpha", f"case{number}", count=4)
        filmed.film("beta", f"case{number}", count=4)
    with visit(browser, build_site(load_runs([filmed.write()]), tmp_path / "site"), dark=dark) as opened:
        opened.page.evaluate("() => { for (const d of document.querySelectorAll('details')) d.open = true; }")
        assert serious_violations(opened.page) == []
        assert opened.page.locator("a[href^='items/']").count() >= 3
        assert (opened.went_out(), opened.errors) == ([], [])


def test_a_page_that_is_not_accessible_is_told_apart(browser: Any, tmp_path: Path) -> None:
    (tmp_path / "bad.html").write_text("<html><body><img src='x.png'><input></body></html>")
    with visit(browser, tmp_path / "bad.html") as opened:
        assert {found.split(":")[0] for found in serious_violations(opened.page)} >= {"image-alt", "label"}


def test_a_true_video_is_shown_from_the_frame_where_answers_begin(browser: Any, tmp_path: Path) -> None:
    mind_page(tmp_path)
    (page,) = (tmp_path / "site/items").iterdir()
    with visit(browser, page, fragment="#t=0.5") as opened:
        truth, answer = wait_for_frames(opened, 8, 4)
        assert truth["time"] - answer["time"] == pytest.approx(0.5)
        assert opened.page.locator("#player-reference .frame").inner_text() == "frame 4"


def test_axe_finds_nothing_serious_among_hostile_text(browser: Any, tmp_path: Path) -> None:
    with visit(browser, hostile_page(tmp_path)) as opened:
        assert serious_violations(opened.page) == []


def test_without_scripts_every_video_can_be_opened_by_a_link(browser: Any, page_of_three: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(page_of_three.as_uri())
        links = [link.get_attribute("href") for link in page.locator(".player figcaption a").all()]
        assert len(links) == 3
        assert all((page_of_three.parent / str(link)).resolve().is_file() for link in links)
        assert page.locator("#scrubber").is_visible() is False
    finally:
        context.close()
