"""The index as markup: hostile text stays text, and what machines and screen readers need is there."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from itertools import pairwise
from pathlib import Path

import jinja2
import pytest

from lookaway.core import UserError
from lookaway.reports.runs import load_runs
from lookaway.reports.site import building, rendering
from lookaway.reports.site.rendering import Sources, environment, isolated, script_json, shortened, slug, write_page
from tests.reports.site.page import Node, read_page
from tests.reports.site.simulated import ABSTAINED, Simulated
from tests.support.command import lookaway

HOSTILE = (
    "</script><script>alert(1)</script>",
    "\"' onclick=alert(1) x='",
    "<img src=x onerror=alert(1)>",
    "</title></svg></table></details><b>",
    "{{ 7*7 }}{% raw %}&lt;b&gt;",
    "\u202eevil\u2066\u2028]]>--><!--",
)
HOSTILE_EVERYWHERE = "\"'><script>alert(1)</script><b onload='x"
"""What subsets, the dataset, the folder, the title and messages are called."""
KINDS = ("rendering_style", "rendering_lighting", "object_texture", "object_geometry")


def write_run(path: Path, names: tuple[str, ...], text: str, **more) -> Simulated:
    """A run with everything that the index can show, whose models have these names and all else says this."""
    return Simulated(
        path=path,
        skills={name: 0.4 + 0.08 * number for number, name in enumerate(names)},
        metrics=[f"mbencht.{subset}.{kind}" for subset, kind in zip((text, text, "b", "b"), KINDS, strict=True)],
        identity=text,
        scenes=12,
        seeds=2,
        frames=5,
        triggered=dict.fromkeys(names, 0.9),
        decide=lambda model, number, metric: ABSTAINED if number == 11 and "style" in metric else None,
        about={
            "problems": [{"where": text, "message": text}],
            "lookaway": text,
            "dataset": f"x/{text.replace('/', '')}",
        },
        **more,
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory) -> dict[str, tuple[Path, Node]]:
    """The same site with harmless and with hostile text of the same length and order."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "write_items", lambda runs, output: {})
        found = {}
        for kind, names in (
            ("hostile", HOSTILE),
            ("harmless", tuple(f"{number}{'x' * (len(name) - 1)}" for number, name in enumerate(sorted(HOSTILE)))),
        ):
            folder = tmp_path_factory.mktemp(kind)
            ordered = sorted(names)
            text = HOSTILE_EVERYWHERE if kind == "hostile" else "x" * len(HOSTILE_EVERYWHERE)
            run = write_run(folder / text.replace("/", ""), tuple(ordered), text).write()
            index = building.build_site(load_runs([run.path]), folder / "site", title=text)
            found[kind] = (folder / "site", read_page(index.read_text()))
    return found


def test_hostile_text_adds_no_element_and_no_attribute(pages):
    assert pages["hostile"][1].shape == pages["harmless"][1].shape


def test_hostile_text_is_shown_as_it_is(pages):
    text = pages["hostile"][1].text
    for name in HOSTILE:
        assert name in text, name


def test_no_element_of_hostile_text_is_on_the_page(pages):
    page = pages["hostile"][1]
    assert len(page.all("script")) == 1
    assert page.all("img") == page.all("b") == []
    for node in page.all():
        assert not any(name.startswith("on") or name in ("style", "srcdoc") for name in node.attributes), node


def test_names_of_models_are_isolated(pages):
    page = pages["hostile"][1]
    for table in page.all("table", "ranked"):
        for row in table.one("tbody").all("tr"):
            assert row.one("th").all("bdi")[0].text in HOSTILE


def test_pictures_hold_no_character_that_turns_the_writing_round(pages):
    for picture in pages["hostile"][1].all("svg"):
        assert not set(picture.text) & set("\u202e\u2066\u2028")


def test_the_policy_allows_no_other_host_and_no_other_script(pages):
    page = pages["hostile"][1]
    (policy,) = (n.attributes["content"] for n in page.all("meta") if n.attributes.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    assert len(re.findall(r"script-src 'sha256-[\w+/=]+'", policy)) == 1
    for node in page.all():
        for name in ("src", "href"):
            assert not node.attributes.get(name, "").startswith(("http", "//", "javascript:", "data:"))


def test_the_hash_of_the_policy_is_that_of_the_script(pages):
    page = pages["harmless"][1]
    (policy,) = (n.attributes["content"] for n in page.all("meta") if n.attributes.get("http-equiv"))
    for tag in ("script", "style"):
        found = hashlib.sha256(page.one(tag).text.encode()).digest()
        assert f"{tag}-src 'sha256-{base64.b64encode(found).decode()}'" in policy


def test_every_chart_has_a_title_a_description_a_summary_and_a_table(pages):
    page = pages["harmless"][1]
    charts = page.all("svg", "chart")
    assert len(charts) > 10
    for chart in charts:
        titles = [child for child in chart.children if isinstance(child, Node) and child.tag == "title"]
        assert len(titles) == len(chart.all("desc")) == 1
        assert titles[0].text
        assert chart.one("desc").text
        assert chart.attributes["role"] == ("group" if "two" in chart.attributes["class"].split() else "img")
    for figure in page.all("figure"):
        if "small" not in figure.attributes["class"]:
            assert figure.one("p", "summary").text
            assert figure.one("table").one("tbody").all("tr")
    (radars,) = page.all("div", "radars")
    assert len(radars.all("svg", "radar")) == len(HOSTILE)
    assert any(table.one("caption").text == "Numbers behind the radars" for table in page.all("table"))


def test_every_table_has_a_caption_and_every_head_says_what_it_heads(pages):
    tables = pages["harmless"][1].all("table")
    assert len(tables) > 20
    for table in tables:
        assert table.one("caption").text
        assert all(head.attributes.get("scope") in ("col", "row", "colgroup") for head in table.all("th"))
        widths = {
            sum(int(cell.attributes.get("colspan", 1)) for cell in row.all("td") + row.all("th"))
            for row in table.all("tr")
        }
        assert len(widths) == 1


def test_everything_that_scrolls_can_be_reached_with_the_keyboard_and_has_a_name(pages):
    for node in pages["harmless"][1].all("div", "scroll"):
        assert (node.attributes["tabindex"], node.attributes["role"]) == ("0", "region")
        assert node.attributes["aria-label"]


def test_ids_are_unique_and_all_links_lead_somewhere(pages):
    site, page = pages["harmless"]
    ids = [node.attributes["id"] for node in page.all() if "id" in node.attributes]
    assert len(ids) == len(set(ids))
    links = [node.attributes["href"] for tag in ("a", "use") for node in page.all(tag)]
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (site / link).is_file(), link


def test_headings_leave_out_no_level(pages):
    levels = [int(node.tag[1]) for node in pages["harmless"][1].all() if re.fullmatch(r"h[1-6]", node.tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_a_long_text_is_one_click_away_and_whole():
    text = "<b>" + "x" * 100_000
    found = read_page(str(shortened(text)))
    assert found.one("summary").text == text[:160] + "…"
    assert found.one("details").children[1].text == text
    assert str(shortened("short")) == str(isolated("short")) == "<bdi>short</bdi>"


def test_json_cannot_end_its_script():
    text = str(script_json({"</script>": "<!--&\u2028\u2029'"}))
    assert not set(text) & set("<>&'\u2028\u2029")
    assert json.loads(text) == {"</script>": "<!--&\u2028\u2029'"}


@pytest.mark.parametrize("text", ["../../etc/passwd", "a b", "", "-rf", "ä" * 500, "x" * 500, "\udcff", "CON"])
def test_a_slug_is_a_plain_file_name(text):
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]{7,48}", slug(text))


def test_texts_that_read_alike_have_different_slugs():
    assert len({slug("A b"), slug("a b"), slug("a-b"), slug("a/b")}) == 4


def test_controls_and_broken_bytes_are_spelled_out():
    assert str(isolated("a\x00b\x1b\udcff")) == "<bdi>a\\x00b\\x1b\\udcff</bdi>"


def test_a_name_that_a_template_does_not_get_is_an_error():
    with pytest.raises(jinja2.UndefinedError):
        environment().from_string("{{ nobody }}").render()


def test_a_page_in_a_folder_finds_its_files(tmp_path, monkeypatch):
    write_page(
        tmp_path, "items/x.html", "section.html.j2", sources=Sources(scripts=("index.js",)),
        title="t", section={"title": "s", "suite": "s", "html": ""},
    )  # fmt: skip
    page = read_page((tmp_path / "items" / "x.html").read_text())
    links = [page.one("link").attributes["href"], page.one("script").attributes["src"]]
    for link in links:
        assert (tmp_path / "items" / link).resolve().is_file()
        assert re.search(r"\.[0-9a-f]{8}\.(css|js)$", link)
    (policy,) = (n.attributes["content"] for n in page.all("meta") if n.attributes.get("http-equiv"))
    assert "script-src 'self'; " in policy
    assert "style-src 'self'; " in policy


def test_the_command_writes_the_site(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "write_items", lambda runs, output: {})
    run = write_run(tmp_path / "run", ("a", "b"), "x").write()
    result = lookaway("report", run.path, "-o", tmp_path / "site", "--title", "A & B")
    assert result.code == 0, result.err
    assert result.out.startswith(f"Wrote {tmp_path / 'site' / 'index.html'} (")
    assert read_page((tmp_path / "site" / "index.html").read_text()).one("h1").text == "A & B"


def test_a_place_that_cannot_be_written_is_the_users_to_put_right(tmp_path, monkeypatch):
    monkeypatch.setattr(building, "write_items", lambda runs, output: {})
    run = write_run(tmp_path / "run", ("a", "b"), "x").write()
    (tmp_path / "site").write_text("in the way")
    with pytest.raises(UserError, match="cannot be written"):
        building.build_site(load_runs([run.path]), tmp_path / "site")


def test_assets_ask_no_network():
    for path in Path(rendering.__file__).parent.joinpath("assets").iterdir():
        assert not re.search(r"https?:|//[a-z]|@import|url\(", path.read_text().replace("http://www.w3.org", "")), path
