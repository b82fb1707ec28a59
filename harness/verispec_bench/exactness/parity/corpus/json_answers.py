"""JSON to be written, changed and continued; a few under a grammar."""

import json
from typing import Any

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt

RECORDS: tuple[dict[str, Any], ...] = (
    {"title": "The Salt Road", "author": "Mira Hale", "pages": 312, "tags": ["travel", "history"], "in_print": True},
    {"city": "Lisbon", "country": "Portugal", "population": 545000, "location": {"lat": 38.72, "lon": -9.14}},
    {"order": 4711, "items": [{"sku": "A-12", "count": 2}, {"sku": "B-07", "count": 1}], "paid": False},
    {"device": "sensor-9", "readings": [20.1, 20.4, 21.0, 20.9], "unit": "°C", "battery": 0.87},
    {"user": "kestrel", "roles": ["reader", "editor"], "last_login": "2024-11-03T08:15:00Z", "locked": None},
    {"recipe": "pancakes", "serves": 4, "ingredients": {"flour_g": 250, "milk_ml": 500, "eggs": 3}},
    {"train": "IC 204", "from": "Bern", "to": "Basel", "stops": ["Olten", "Liestal"], "delay_min": 5},
)
CHANGES = (
    'Add a key "id" with the value 1 and print the whole object again, nothing else:\n{record}',
    "Print this object again with every key in upper case, nothing else:\n{record}",
    "Sort the keys of this object alphabetically and print it again, nothing else:\n{record}",
    "Explain each key of this object in one line:\n{record}",
)
WANTED = (
    "a bicycle with brand, colour, price and a list of accessories",
    "a week's weather, one object for each day with high, low and sky",
    "three planets with name, moons and distance from the sun",
    "a library member with name, address and two borrowed books",
    "a football match with both teams, the goals and their minutes",
    "a shopping list of five things with amounts and units",
)
BEGINNINGS = (
    '[{"n": 1, "square": 1}, {"n": 2, "square": 4}, {"n": 3, "square": 9}, {"n": 4,',
    '{"name": "Ada", "age": 36}\n{"name": "Alan", "age": 41}\n{"name": "Grace", "age":',
    '{\n  "version": "1.0.0",\n  "scripts": {\n    "build": "tsc",\n    "test": "jest"\n  },\n  "dependencies": {\n',
    '{"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": {"type": "Point", "coordinates": [',
    '{"a": {"a": {"a": {"a": {"a":',
    "[true, false, null, true, false, null, true,",
    '{"January": 31, "February": 28, "March": 31, "April":',
    "[[1, 0, 0], [0, 1, 0],",
)
SCHEMAS: tuple[dict[str, Any], ...] = (
    {"name": {"type": "string"}, "age": {"type": "integer"}},
    {"city": {"type": "string"}, "rainy": {"type": "boolean"}},
    {"mood": {"enum": ["glad", "calm", "tired"]}, "score": {"type": "integer"}},
    {"items": {"type": "array", "items": {"type": "string"}, "maxItems": 4}},
    {"x": {"type": "integer"}, "y": {"type": "integer"}, "label": {"type": "string"}},
    {"question": {"type": "string"}, "options": {"type": "array", "items": {"type": "string"}, "maxItems": 3}},
)
SUBJECTS = ("a person you make up", "a place by the sea")


def prompts() -> list[GreedyPrompt]:
    """Changes of each record, objects from a description, answers under a schema, then the beginnings."""
    asked: list[tuple[str, bool, dict[str, Any]]] = [
        (change.format(record=json.dumps(record, ensure_ascii=False)), True, {})
        for record in RECORDS
        for change in CHANGES
    ]
    asked += [(f"Give me a JSON object for {wanted}. Answer with JSON only.", True, {}) for wanted in WANTED]
    asked += [
        (f"Describe {subject} as JSON with the keys {', '.join(keys)}.", True, {"response_format": _schema(keys)})
        for keys in SCHEMAS
        for subject in SUBJECTS
    ]
    asked += [(text, False, {}) for text in BEGINNINGS]
    return [GreedyPrompt("json", number, *ask) for number, ask in enumerate(asked)]


def _schema(properties: dict[str, Any]) -> dict[str, Any]:
    """vLLM's and OpenAI's form of a JSON schema that an answer must follow."""
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}
