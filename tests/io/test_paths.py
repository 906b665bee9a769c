import os
from pathlib import Path

import pytest

from lookaway.core import Reason, UnsafePath
from lookaway.io.dataset_files import inside


@pytest.fixture
def root(tmp_path):
    """A dataset with a video in a folder, beside files that are not part of it."""
    root = tmp_path / "data"
    (root / "videos").mkdir(parents=True)
    (root / "videos" / "clip.mp4").touch()
    (tmp_path / "data_of_others").mkdir()
    (tmp_path / "data_of_others" / "secret").touch()
    (tmp_path / "secret").touch()
    return root


def refused(root, path, **options):
    with pytest.raises(UnsafePath) as raised:
        inside(root, path, **options)
    assert raised.value.reason is Reason.UNSAFE_PATH
    return str(raised.value)


@pytest.mark.parametrize(
    "path", ["videos/clip.mp4", "./videos/clip.mp4", "videos/../videos/clip.mp4", "videos//clip.mp4"]
)
def test_a_path_of_the_dataset_is_found(root, path):
    assert inside(root, path) == root / "videos" / "clip.mp4"


def test_an_absolute_path_into_the_dataset_is_found(root):
    assert inside(root, str(root / "videos" / "clip.mp4")) == root / "videos" / "clip.mp4"


def test_a_file_that_does_not_exist_is_left_to_its_reader(root):
    assert inside(root, "videos/later.mp4") == root / "videos" / "later.mp4"
    assert inside(root, "videos/clip.mp4/deeper") == root / "videos" / "clip.mp4" / "deeper"


def test_relative_paths_start_from_the_base(root):
    assert inside(root, "clip.mp4", base=root / "videos") == root / "videos" / "clip.mp4"
    assert inside(root, "../other.json", base=root / "videos") == root / "other.json"


@pytest.mark.parametrize(
    "path",
    ["../secret", "videos/../../secret", "/etc/passwd", "..", "/", "../data_of_others/secret", "../data/../secret"],
)
def test_a_path_out_of_the_dataset_is_refused(root, path):
    assert "leads out of the dataset" in refused(root, path)
    assert "--allow-outside" in refused(root, path)


def test_a_folder_whose_name_begins_like_the_root_is_outside(root):
    assert "leads out" in refused(root, f"{root}_of_others/secret")


def test_a_base_does_not_widen_the_root(root):
    refused(root, "../../secret", base=root / "videos")
    refused(root, "secret", base=root.parent)


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "..", "../nothing_yet"])
def test_a_link_out_of_the_dataset_is_refused(root, target):
    (root / "link").symlink_to(target)
    refused(root, "link")
    refused(root, "link/deeper")


def test_a_chain_of_links_is_followed_to_its_end(root):
    (root / "first").symlink_to("second")
    (root / "second").symlink_to("..")
    refused(root, "first/secret")


def test_a_link_within_the_dataset_is_followed(root):
    (root / "link.mp4").symlink_to("videos/clip.mp4")
    assert inside(root, "link.mp4") == root / "videos" / "clip.mp4"


def test_the_root_may_be_a_link_itself(root, tmp_path):
    (tmp_path / "alias").symlink_to(root)
    assert inside(tmp_path / "alias", "videos/clip.mp4") == root / "videos" / "clip.mp4"


def test_the_root_may_be_relative_or_the_whole_disk(root, monkeypatch):
    monkeypatch.chdir(root.parent)
    assert inside(Path("data"), "videos/clip.mp4") == root / "videos" / "clip.mp4"
    assert inside(Path("/"), str(root / "videos" / "clip.mp4")) == root / "videos" / "clip.mp4"


@pytest.mark.parametrize("allow_outside", [False, True])
@pytest.mark.parametrize("path", ["", "a\0b", "\0", "x" * 300, "y/" * 3000, "half \ud800 character"])
def test_what_cannot_be_a_path_is_refused(root, path, allow_outside):
    message = refused(root, path, allow_outside=allow_outside)
    assert len(message) < 9000
    message.encode()


def test_a_ring_of_links_is_refused_or_leads_nowhere(root):
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    refused(root, "a/clip.mp4")
    assert not inside(root, "a").exists()


def test_outside_is_allowed_on_request(root):
    assert inside(root, "../secret", allow_outside=True) == root.parent / "secret"
    assert inside(root, "/etc/passwd", allow_outside=True) == Path("/etc/passwd")
    (root / "link").symlink_to("../secret")
    assert inside(root, "link", allow_outside=True).samefile(root.parent / "secret")


def test_a_tilde_is_a_letter(root):
    assert inside(root, "~/clip.mp4") == root / "~" / "clip.mp4"
    assert os.path.expanduser("~") not in str(inside(root, "~"))
