"""Reads pages as a browser does, far enough to see what is an element and what is text."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "input", "hr", "use", "circle", "wbr"}


@dataclass
class Node:
    """An element with what is inside it."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All text inside."""
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    def all(self, tag: str | None = None, class_: str | None = None, **attributes: str) -> list[Node]:
        """Elements inside, at any depth, in their order."""
        found = []
        for child in self.children:
            if isinstance(child, Node):
                has_class = class_ is None or class_ in child.attributes.get("class", "").split()
                has_rest = all(child.attributes.get(name) == value for name, value in attributes.items())
                if tag in (None, child.tag) and has_class and has_rest:
                    found.append(child)
                found += child.all(tag, class_, **attributes)
        return found

    def one(self, tag: str | None = None, class_: str | None = None, **attributes: str) -> Node:
        """The only such element."""
        (found,) = self.all(tag, class_, **attributes)
        return found

    @property
    def shape(self) -> list[tuple[str, tuple[str, ...]]]:
        """Tags and names of attributes of everything inside, without any text."""
        return [(node.tag, tuple(sorted(node.attributes))) for node in self.all()]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Node("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(node)
        if tag not in VOID:
            self.open.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:
            return
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def read_page(text: str) -> Node:
    """The elements of a page; every one that is opened must be closed."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert [node.tag for node in reader.open] == ["document"]
    return reader.root
