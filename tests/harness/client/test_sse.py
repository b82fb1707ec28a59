"""Server-sent events: the same events for every cut of the bytes, and every spelling that the standard allows."""

import pytest

from verispec_bench.client.sse import EventParser

STREAM = (
    ": ping\n\n"
    'data: {"text": " begins with a space"}\n\n'
    'data:{"text": "no space after the colon, 三"}\r\n\r\n'
    "event: other\nid: 4\nretry: 10\ndata: two\ndata: lines\n\n"
    "data: cr only\r\r"
    "data\n\n"
    "data: [DONE]\n\n"
).encode()
EVENTS = [
    '{"text": " begins with a space"}',
    '{"text": "no space after the colon, 三"}',
    "two\nlines",
    "cr only",
    "[DONE]",
]


def parse(pieces):
    parser = EventParser()
    return [event for piece in pieces for event in parser.feed(piece)]


def test_whole_stream_at_once():
    events = parse([STREAM])
    assert [e for e in events if e] == EVENTS


@pytest.mark.parametrize("cut", range(1, len(STREAM)))
def test_every_cut_gives_the_same_events(cut):
    assert parse([STREAM[:cut], STREAM[cut:]]) == parse([STREAM])


def test_byte_by_byte():
    assert parse([bytes([byte]) for byte in STREAM]) == parse([STREAM])


def test_an_event_without_its_blank_line_is_not_delivered():
    assert parse([b"data: half\n"]) == []
