"""The certificate's page for a browser: it says what the text says, and trusts no word."""

from html.parser import HTMLParser

from tailguard.privacy.books.releases import Release
from tailguard.privacy.certificate import Certificate
from tailguard.privacy.events import Gaussian
from tailguard.privacy.guarantees import ApproxDP

PROMISE = ApproxDP(5.0, 1e-6)


FACTS = ("gradient", "ClippedGradient", "gaussian", "l2", 0.3, 3.0)
ROUNDS, PLACE = Release(*FACTS, times=32, stage="rounds"), Release(*FACTS, stage="place")


class Words(HTMLParser):
    """The tags and the words of a page, cell by cell."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.attributes, self.text = [], [], ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data):
        self.text += f"{data} "


def test_the_html_page_says_what_the_text_says():
    facts = {"assumptions_for_accuracy": ("columns vary",), "unused_stages": ("refinement",)}
    certificate = Certificate(PROMISE, 1000, Gaussian(1.0), (ROUNDS, ROUNDS, PLACE), **facts)
    words = " ".join(Words(certificate.to_html()).text.split())
    for word in certificate.to_text().replace("=", " ").split():
        assert word in words or word == "-"
    assert "64 0.3 3 rounds: gradient (gaussian, ClippedGradient)" in words
    assert certificate.guarantee.describe() in words
    assert "Remarks" not in words


def test_the_html_page_of_an_empty_run():
    page = Certificate(PROMISE, 1000, planned=Gaussian(1.0)).to_html()
    assert Words(page).text.count("nothing") == 2


def test_the_html_page_is_one_file_and_trusts_no_word():
    evil = "<script src=https://example.org/x.js>&\"'"
    release = Release(evil, evil, "gaussian", "l2", 1.0, 2.0, stage=evil, block_map=evil, block=0)
    facts = {"assumptions_for_accuracy": (evil,), "unused_stages": (evil,), "version": evil}
    page = Certificate(PROMISE, 1000, Gaussian(1.0), (release,), **facts).to_html()
    words = Words(page)
    assert words.text.count(evil) >= 5
    assert not {"script", "link", "img", "iframe"} & set(words.tags)
    assert set(words.attributes) <= {"lang", "charset", "scope", "class", "style", "tabindex"}
    assert "url(" not in page
