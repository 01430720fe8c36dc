"""The pages of the API's reference, made of its own OpenAPI document: every call, and every model field by field.

What the document says stays English, as it is; the words around it are the reader's.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from markupsafe import Markup, escape

from service.page.rendering import render
from service.page.words import Words
from service.schemas.answers import Problem

MODELS: Final = "/docs/models"
"""The address of the models."""
Schema = Mapping[str, Any]
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter or a field: `place` is where a parameter stands (path, query or header), `default` is JSON or empty."""

    name: str
    kind: Markup
    text: Markup
    required: bool
    default: str
    place: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered with a status: its media types with their contents."""

    status: str
    text: str
    contents: tuple[tuple[str, Markup], ...]


@dataclass(frozen=True, slots=True)
class Call:
    """An operation; `problems` are the statuses that are answered with a problem, `body` is empty where none is sent."""

    id: str
    method: str
    path: str
    summary: str
    text: Markup
    parameters: tuple[Field, ...]
    body: Markup
    examples: tuple[str, ...]
    answers: tuple[Answer, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """A model with its fields."""

    name: str
    text: Markup
    fields: tuple[Field, ...]


def calls_page(words: Words, document: Document) -> str:
    """The page with every call, in the groups of the document."""
    types = _Types(words)
    groups = {tag["name"]: (tag["description"], list[Call]()) for tag in document["tags"]}
    meanings: dict[str, str] = {}
    for path, method, operation in _operations(document):
        groups[operation["tags"][0]][1].append(types.call(method, path, operation, document))
        meanings |= {status: answer["description"] for status, answer in operation["responses"].items() if _is_problem(status)}
    problems = [(status, prose(text)) for status, text in sorted(meanings.items())]
    problem = types.link(Problem.__name__)
    key = document["components"]["securitySchemes"]["key"]["description"]
    return render(
        words, "docs.html", info=document["info"], key=key, groups=groups, problems=problems, problem=problem, models=MODELS
    )


def models_page(words: Words, document: Document) -> str:
    """The page with every model by its name."""
    types = _Types(words)
    schemas: Mapping[str, Schema] = document["components"]["schemas"]
    models = [Model(name, prose(schemas[name].get("description", "")), types.fields(schemas[name])) for name in sorted(schemas)]
    return render(words, "docs_models.html", models=models)


def prose(text: str) -> Markup:
    """A text of the document as HTML: paragraphs, and code between backticks."""
    paragraphs = [re.sub("`([^`]*)`", r"<code>\1</code>", str(escape(part))) for part in text.split("\n\n") if part]
    return Markup("".join(f"<p>{part}</p>" for part in paragraphs))  # escaped above


def _operations(document: Document) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _is_problem(status: str) -> bool:
    return status >= "400"


class _Types:
    """Schemas in words."""

    def __init__(self, words: Words) -> None:
        self._words = words

    def call(self, method: str, path: str, operation: Mapping[str, Any], document: Document) -> Call:
        """An operation of the document."""
        parameters = tuple(
            self._field(each["name"], each["schema"], each["required"], each.get("description", ""), each["in"])
            for each in operation.get("parameters", [])
        )
        sent = operation.get("requestBody", {}).get("content", {})
        responses = operation["responses"]
        answers = [
            Answer(status, answer["description"], tuple(self._contents(answer.get("content", {}))))
            for status, answer in responses.items() if not _is_problem(status)
        ]  # fmt: skip
        return Call(
            operation["operationId"], method.upper(), path, operation["summary"], prose(operation["description"]), parameters,
            Markup(", ").join(kind for _, kind in self._contents(sent)), tuple(_examples(sent, document)), tuple(answers),
            tuple(status for status in responses if _is_problem(status)),
        )  # fmt: skip

    def fields(self, schema: Schema) -> tuple[Field, ...]:
        """The fields of a model."""
        required = schema.get("required", ())
        return tuple(
            self._field(name, field, name in required, field.get("description", ""))
            for name, field in schema.get("properties", {}).items()
        )

    def link(self, name: str) -> Markup:
        """A model's name as a link to it."""
        return Markup('<a href="{}#{}">{}</a>').format(MODELS, name, name)

    def kind(self, schema: Schema) -> Markup:
        """What a value may be."""
        match schema:
            case {"$ref": str(reference)}:
                return self.link(reference.rpartition("/")[2])
            case {"anyOf": [*some]} | {"oneOf": [*some]}:
                return _either(self.kind(each) for each in some)
            case {"const": value}:
                return _code(value)
            case {"enum": [*values]}:
                return _either(_code(value) for value in values)
            case {"type": "array"}:
                many = self._words("reference.list", of=self.kind(schema.get("items", {})))
                return self._bounded(many, schema, "reference.entries", "minItems", "maxItems")
            case {"type": "object", "patternProperties": patterns}:
                return self._words("reference.object", of=_either(self.kind(each) for each in patterns.values()))
            case {"type": "object", "additionalProperties": dict(values)} if values:
                return self._words("reference.object", of=self.kind(values))
            case {"type": "object", "properties": properties}:
                inside = Markup(", ").join(
                    Markup("{} {}").format(_name(name), self.kind(each)) for name, each in properties.items()
                )
                return self._words("reference.object", of=inside)
            case {"type": kind}:
                told = _name(schema.get("format", kind))
                told = self._bounded(told, schema, "reference.length", "minLength", "maxLength")
                told = self._bounded(told, schema, None, "minimum", "maximum")
                return told + Markup(" ") + _name(schema["pattern"]) if "pattern" in schema else told
            case _:
                return self._words("reference.anything")

    def _field(self, name: str, schema: Schema, required: bool, text: str, place: str = "") -> Field:
        default = "" if schema.get("default") in (None, "", [], {}) else json.dumps(schema["default"])
        return Field(name, self.kind(schema), prose(text), required, default, place)

    def _contents(self, contents: Mapping[str, Any]) -> Iterator[tuple[str, Markup]]:
        for media_type, content in contents.items():
            yield media_type, self.kind(content["schema"])

    def _bounded(self, told: Markup, schema: Schema, text: str | None, least: str, most: str) -> Markup:
        low, high = (f"{int(schema[bound])}" if bound in schema else "" for bound in (least, most))
        if not low and not high:
            return told
        span = low if low == high else f"{low} – {high}" if low and high else f"≥ {low}" if low else f"≤ {high}"
        return Markup("{} ({})").format(told, self._words(text, count=span) if text else span)


def _examples(contents: Mapping[str, Any], document: Document) -> Iterator[str]:
    """The examples of a body, or else those of the model that it is."""
    for content in contents.values():
        given: Sequence[Any] = [example["value"] for example in content.get("examples", {}).values()]
        if not given:
            names = re.findall(r"schemas/(\w+)'", str(content["schema"]))
            given = [each for name in names[:1] for each in document["components"]["schemas"][name].get("examples", [])]
        yield from (json.dumps(example, ensure_ascii=False) for example in given)


def _name(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text)


def _code(value: Any) -> Markup:
    return _name(json.dumps(value))


def _either(kinds: Iterable[Markup]) -> Markup:
    return Markup(" | ").join(dict.fromkeys(kinds))
