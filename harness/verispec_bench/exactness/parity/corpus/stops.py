"""Answers that end at a stop string: in the middle of a copied run, within a token, at a character of several bytes."""

from itertools import product
from typing import Any

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt

LISTS = {
    "colours": ("red", "orange", "yellow", "green", "blue", "violet"),
    "days": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"),
    "planets": ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn"),
    "tools": ("hammer", "saw", "drill", "file", "plane", "chisel"),
    "rivers": ("Nile", "Danube", "Volga", "Ganges", "Amazon", "Rhine"),
    "notes": ("do", "re", "mi", "fa", "sol", "la"),
}
COPIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("Repeat this list of {name} exactly:", {"stop": ["\n4."]}),
    ("Write these {name} once more, numbered in the same way:", {"stop": ["{fourth}"]}),
    ("Copy the {name} below, one a line:", {"stop": ["{fourth}"], "include_stop_str_in_output": True}),
    ("Here are some {name}. Print the list again:", {"stop": ["5", "{last}"]}),
)
QUESTIONS: tuple[tuple[str, list[str]], ...] = (
    ("Write a short letter to a neighbour whose cat you have found.", ["\n\n"]),
    ("Tell a story of a lighthouse in one paragraph.", [". "]),
    ("Name ten animals, separated by commas.", [",", ";"]),
    ("Count from one to twenty in words.", ["twelve", "ten"]),
    ("Explain how a kettle works.", [" and", " or"]),
    ("Write a function that adds two numbers in Python.", ["return"]),
    ("Give three reasons to walk to work.", ["2.", "second"]),
    ("Write a haiku about rain.", ["\n"]),
    ("What is the capital of France? Answer in a sentence.", ["Paris"]),
    ("Write a table of the first five square numbers in Markdown.", ["| 4", "|4"]),
    ("请列出五种水果。", ["。", "、"]),
    ("Назови пять деревьев.", [",", "\n"]),
    ("Write a line of emojis about the sea.", ["🐟", "🌊"]),
    ("Quote a proverb and explain it.", ['"', "”"]),
    ("Say the alphabet, separated by spaces.", ["M", "m n"]),
    ("Write HTML for a list of three towns.", ["</li>"]),
    ("List the months of the year.", ["Apr", "ril"]),
    ("Write a dialogue of two people who wait for a bus.", ["B:", "Person 2"]),
)
TEXTS: tuple[tuple[str, list[str]], ...] = (
    ("one two three four five six seven eight one two three four five", ["eight"]),
    ("A-B-C-D-A-B-C-D-A-B-", ["D-A", "zzz"]),
    ("tick tock tick tock tick tock tick", ["tock tick tock"]),
    ("Q: What is 2 + 2?\nA: 4\n\nQ: What is 3 + 3?\nA: 6\n\nQ: What is 4 + 4?\nA:", ["Q:"]),
    ("the cat sat on the mat, the dog sat on the mat, the", ["mat,"]),
    ("0, 1, 1, 2, 3, 5, 8, 13, 21,", ["89", "34, 55"]),
    ("def f(x):\n    return x + 1\n\ndef g(x):\n    return x + 2\n\ndef h(x):\n", ["\n\n"]),
    ("日 月 火 水 木 金 土 日 月 火 水", ["土 日", "金土"]),
    ("Dear Sir,\nthank you for your letter.", ["Sincerely", "Yours", "regards"]),
    ("# Title\n\n## One\n\nText of one.\n\n## Two\n\nText of two.\n\n##", ["##"]),
    ("ha ha ha ha ha ha ha ha", ["ha ha ha ha"]),
    ("Monday: soup. Tuesday: rice. Wednesday: soup. Thursday:", ["Saturday", "soup. T"]),
)


def prompts() -> list[GreedyPrompt]:
    """Numbered lists that are repeated, questions, then texts to be continued."""
    asked: list[tuple[str, bool, dict[str, Any]]] = [
        (f"{copy.format(name=name)}\n{_numbered(words)}", True, _filled(options, words))
        for (name, words), (copy, options) in product(LISTS.items(), COPIES)
    ]
    asked += [(text, True, {"stop": stops}) for text, stops in QUESTIONS]
    asked += [(text, False, {"stop": stops}) for text, stops in TEXTS]
    return [GreedyPrompt("stop", number, *ask) for number, ask in enumerate(asked)]


def _numbered(words: tuple[str, ...]) -> str:
    return "\n".join(f"{number}. {word}" for number, word in enumerate(words, start=1))


def _filled(options: dict[str, Any], words: tuple[str, ...]) -> dict[str, Any]:
    return options | {"stop": [stop.format(fourth=words[3], last=words[-1]) for stop in options["stop"]]}
