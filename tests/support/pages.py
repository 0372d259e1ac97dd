"""HTML pages parsed for tests: tables by cell, tags, attributes and other text."""

from html.parser import HTMLParser

SILENT = {"script", "style", "title"}
VOID = {"meta", "rect", "line", "br", "img", "link", "input"}


class Page(HTMLParser):
    """A page: its tables by caption, its elements, and the text outside tables."""

    def __init__(self, text):
        super().__init__()
        self.tables, self.words, self.elements, self.open = {}, [], [], []
        self._caption, self._rows, self._table = "", [], 0
        self.feed(text)
        assert self.open == [], f"elements stay open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._caption, self._rows = "", []
        elif tag == "tr":
            self._rows.append([])
        elif tag in {"td", "th"}:
            self._rows[-1].append("")

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in VOID:  # a browser closes these as well
            return
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, data):
        if SILENT & {*self.open}:
            return
        if "caption" in self.open:
            self._caption += data
        elif {"td", "th"} & {*self.open}:
            self._rows[-1][-1] += data
        elif data.strip():
            self.words.append(data.strip())

    def all(self, tag):
        return [attributes for name, attributes in self.elements if name == tag]
