"""A folder of videos: a manifest, or a pattern such as `{model}/{case}/{seed}.mp4`."""

from lookaway.suites.folder.suite import Folder

__all__ = ["Folder"]
