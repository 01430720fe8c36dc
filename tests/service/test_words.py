"""The words of the pages: all in one place, whole in every language, chosen by what the browser asks for."""

import re
import string
from importlib.resources import files
from typing import Any

import httpx2
import pytest

from service.page.rules import explained, parameter_texts
from service.page.words import ALL, LANGUAGES, Text, preferred
from tests.service.test_page import load
from workers.engine.rules import PRESETS

PAGE = files("service.page")
TEMPLATES = {
    f"{folder}/{path.name}": path.read_text()
    for folder in (".", "parts")
    for path in PAGE.joinpath("templates", folder).iterdir()
    if path.is_file()
}
NAMES = {"Blockyard", "UTF", "LLR", "H", "JSON"}
"""What stands in templates as it is in every language."""


def places(text: Text) -> set[str]:
    """The names of the values that a text takes."""
    texts = text.values() if isinstance(text, dict) else [text]
    return {name for each in texts for _, name, _, _ in string.Formatter().parse(each) if name}


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_language_says_everything(language: str) -> None:
    english, other = ALL["en"].texts, ALL[language].texts
    assert list(other) == list(english), "the same names in the same order"
    for name, text in other.items():
        assert places(text) == places(english[name]), name
        assert "" not in (text.values() if isinstance(text, dict) else [text]), name
    same = [
        name
        for name, text in other.items()
        if text == english[name] and re.search(r"[a-z]{4}", str(text)) and "{" not in str(text)
    ]
    assert set(same) <= {"state.normal", "job.normal"}, "left in English"


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_ruleset_is_explained_whole_in_every_language(language: str) -> None:
    for english, other in zip(explained(ALL["en"]), explained(ALL[language]), strict=True):
        assert (len(other.rules), len(other.choices)) == (len(english.rules), len(english.choices))
        assert not set(english.rules) & set(other.rules)
        assert not set(english.choices) & set(other.choices)
        assert other.summary != english.summary
        # What a rule says in figures it says in every language.
        for one, two in zip(english.rules + english.choices, other.rules + other.choices, strict=True):
            assert set(re.findall(r"\d+", one.replace(",", ""))) == set(re.findall(r"\d+", two.replace(".", ""))), two
    english_texts, other_texts = parameter_texts(ALL["en"]), parameter_texts(ALL[language])
    assert list(other_texts) == list(PRESETS["block"])
    assert not set(english_texts.values()) & set(other_texts.values())


@pytest.mark.parametrize("name", sorted(TEMPLATES))
def test_templates_hold_no_words_of_their_own(name: str) -> None:
    template = TEMPLATES[name]
    for used in re.findall(r"""\bt\("([\w.]+)"[,)]""", template):
        assert used in ALL["en"].texts, used
    shown = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", template, flags=re.DOTALL)
    attributes = re.findall(r'(?:aria-label|title|placeholder|alt)="([^"]*)"', shown)
    text = re.sub(r"<(code|pre|!doctype).*?</\1>|<[^>]*>", " ", shown, flags=re.DOTALL)
    found = set(re.findall(r"[A-Za-z]+", " ".join([text, *attributes]))) - NAMES
    assert not found, f"{found} should come from the words"


def test_every_text_is_used() -> None:
    modules = [path.read_text() for path in PAGE.iterdir() if path.name.endswith(".py")]
    sources = "".join([*TEMPLATES.values(), *modules])
    built = {"format", "login", "problem", "state", *re.findall(r"""t\("(\w+)\." ~""", sources)}
    for name in ALL["en"].texts:
        assert f'"{name}"' in sources or name.partition(".")[0] in built, name


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"), ("tr", "tr"), ("tr-TR,tr;q=0.9,en-US;q=0.8", "tr"), ("id-ID", "id"), ("in", "id"), ("de, id;q=0.5", "id"),
        ("en;q=0.4, tr;q=0.6", "tr"), ("tr;q=0", "en"), ("fr", "en"), ("*", "en"), ("TR", "tr"), ("tr;q=x", "en"),
        (";;,,q=", "en"),
    ],
)  # fmt: skip
def test_the_browser_chooses(header: str, language: str) -> None:
    assert preferred(header) == language


@pytest.mark.parametrize(("language", "title"), [("en", "Rules"), ("id", "Aturan"), ("tr", "Kurallar")])
def test_a_page_speaks_the_language_that_is_asked_for(http: httpx2.Client, language: str, title: str) -> None:
    answer = http.get("/rules", headers={"Accept-Language": f"{language},en;q=0.1"})
    assert (answer.headers["Content-Language"], answer.headers["Vary"]) == (language, "Accept-Language, Accept-Encoding")
    assert f'<html lang="{language}">' in answer.text
    assert f"<h1>{title}</h1>" in answer.text
    assert "None" not in answer.text
    assert re.findall('data-port="([^"]*)"', answer.text) == ["[1|1] B", "[3|4] low"]
    for ruleset in explained(ALL[language]):
        for text in (*ruleset.rules, *ruleset.choices):
            assert text.replace("'", "&#39;") in answer.text


def test_fragments_speak_the_language_of_whoever_listens(http: httpx2.Client) -> None:
    job: dict[str, Any] = {"scenarios": [{"policies": ["heaviest", "random"], "matches": 64}]}
    path = f"/jobs/{http.post('/v1/jobs', json=job).json()['id']}"
    told = []
    for language in ("tr", "en"):
        with http.stream("GET", f"{path}/live", headers={"Accept-Language": language}) as answer:
            told.append(next(message for message in httpx2.EventSource(answer) if message.event == "fragments"))
    assert ("sırada" in told[0].data, "queued" in told[0].data) == (True, True), "the class of a badge is no word"
    assert ("sırada" in told[1].data, ">queued<" in told[1].data) == (False, True)
    assert "Sırada" not in load(http, path).words


def test_what_is_put_into_a_text_is_escaped() -> None:
    assert "&lt;b&gt;" in ALL["en"]("regressions.outcome", test="<b>", verdict="passed")
