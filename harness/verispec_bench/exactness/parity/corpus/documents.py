"""Documents of several hundred tokens with a task at the end."""

import random
from collections.abc import Callable, Iterator

from verispec_bench.exactness.parity.corpus.prompt import GreedyPrompt, of_kind

NAMES = ("Ana", "Bram", "Chen", "Dilek", "Emil", "Farah", "Goran", "Hanna", "Ivo", "Jun", "Kofi", "Lena")
GOODS = (
    "apples",
    "bolts",
    "candles",
    "drums",
    "envelopes",
    "flour",
    "gloves",
    "hinges",
    "ink",
    "jars",
    "lamps",
    "nails",
)
PLACES = ("the harbour", "the old mill", "platform two", "the north gate", "the library", "the bakery", "room 14")
TOPICS = ("the budget", "the new roof", "the spring fair", "parking", "the website", "noise at night", "the garden")
SERVICES = ("gateway", "billing", "search", "mailer", "storage")
EVENTS = ("request served", "cache refreshed", "connection closed", "retry scheduled", "queue drained", "token renewed")


def _stock(draw: random.Random) -> Iterator[str]:
    yield "item,shelf,count,price"
    for row in range(36):
        yield f"{draw.choice(GOODS)},{draw.choice('ABCDEF')}{row + 1},{draw.randrange(400)},{draw.randrange(99)}.50"


def _log(draw: random.Random) -> Iterator[str]:
    second = draw.randrange(3600)
    for _ in range(22):
        second += draw.randrange(1, 40)
        level = draw.choices(("INFO", "WARN", "ERROR"), (8, 2, 1))[0]
        clock = f"{7 + second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}"
        yield f"{clock} {level} {draw.choice(SERVICES)}: {draw.choice(EVENTS)} in {draw.randrange(900)} ms"


def _minutes(draw: random.Random) -> Iterator[str]:
    for number in range(1, 16):
        who, other = draw.sample(NAMES, 2)
        topic = draw.choice(TOPICS)
        yield draw.choice((
            f"{number}. {who} reported on {topic}. {other} asked for figures, which will be sent by Friday.",
            f"{number}. On {topic}, {who} and {other} disagreed; the vote is put off to the next meeting.",
            f"{number}. {who} will talk to the town about {topic} and meet {other} at {draw.choice(PLACES)}.",
        ))  # fmt: skip


def _story(draw: random.Random) -> Iterator[str]:
    hero, friend = draw.sample(NAMES, 2)
    for _ in range(16):
        yield draw.choice((
            f"{hero} walked to {draw.choice(PLACES)} and found {draw.randrange(2, 30)} {draw.choice(GOODS)} there.",
            f'"Have you seen the {draw.choice(GOODS)}?" asked {friend}. "No," said {hero}, "but I was at '
            f'{draw.choice(PLACES)} all day."',
            f"It rained again, so {friend} stayed at {draw.choice(PLACES)} and counted {draw.choice(GOODS)}.",
            f"Nobody at {draw.choice(PLACES)} knew what {hero} and {friend} were looking for.",
        ))  # fmt: skip


def _settings(draw: random.Random) -> Iterator[str]:
    for service in SERVICES:
        yield f"[{service}]"
        for key in ("timeout_s", "retries", "workers", "batch", "port", "queue_limit"):
            yield f"{key} = {draw.randrange(1, 9000)}"
        yield f"owner = {draw.choice(NAMES).lower()}@example.org\n"


DOCUMENTS: dict[Callable[[random.Random], Iterator[str]], tuple[str, ...]] = {
    _stock: ("Copy the rows of shelf A exactly.", "Which three items are the dearest?"),
    _log: ("Copy every line that is an ERROR, exactly.", "Summarise this log in two sentences."),
    _minutes: ("List who has to do what.", "Repeat the first three points word for word."),
    _story: ("Retell this story in three sentences.", "Continue the story."),
    _settings: ("Print the last section again with every number doubled.", "Which service has the most workers?"),
}
EDITIONS = 5
TEXTS = 4


def prompts() -> list[GreedyPrompt]:
    """Several editions of each document with each of its tasks, then documents that are just continued."""
    messages = [
        f"{_document(make, edition)}\n\n{task}"
        for make, tasks in DOCUMENTS.items()
        for edition in range(EDITIONS)
        for task in tasks
    ]
    texts = [_document(make, EDITIONS) + "\n" for make in list(DOCUMENTS)[:TEXTS]]
    return of_kind("long", messages, texts)


def _document(make: Callable[[random.Random], Iterator[str]], edition: int) -> str:
    return "\n".join(make(random.Random(f"{make.__name__} {edition}")))
