"""The bytes of a request: what each kind of prompt, endpoint and server is sent."""

import json

import pytest

from verispec_bench.client import Request, Sampling, Target
from verispec_bench.errors import UnusableInput
from verispec_bench.workload import Message, Prompt

CHAT = Prompt("c", "and now?", history=(Message("user", "hello"), Message("assistant", "hi")))


HELLO, SEVEN = Prompt("p", "hello"), Sampling(7)


def call(prompt=HELLO, sampling=SEVEN, **target):
    return Request(prompt, sampling, due_s=1.5).call(Target("http://x", "m", **target))


def body(*args, **target):
    return json.loads(call(*args, **target).body)


def test_a_text_is_the_message_of_a_user():
    assert call().path == "/v1/chat/completions"
    assert body()["messages"] == [{"role": "user", "content": "hello"}]
    assert body()["model"] == "m"


def test_the_earlier_messages_of_a_chat_come_first():
    roles = [(message["role"], message["content"]) for message in body(CHAT)["messages"]]
    assert roles == [("user", "hello"), ("assistant", "hi"), ("user", "and now?")]


def test_completions_continue_the_text():
    assert call(endpoint="completions").path == "/v1/completions"
    assert body(endpoint="completions")["prompt"] == "hello"
    with pytest.raises(UnusableInput, match="prompt c is a chat of several turns"):
        call(CHAT, endpoint="completions")


@pytest.mark.parametrize("endpoint", ["chat", "completions"])
def test_token_ids_go_to_completions_whatever_the_endpoint(endpoint):
    sent = call(Prompt("p", token_ids=(5, 6, 7)), endpoint=endpoint)
    assert sent.path == "/v1/completions"
    assert json.loads(sent.body)["prompt"] == [5, 6, 7]


def test_a_prompt_s_own_length_comes_before_the_load_s():
    own = Prompt("p", "hello", output_len=3)
    assert (call(own).max_tokens, body(own)["max_tokens"]) == (3, 3)
    assert (call().max_tokens, body()["max_tokens"]) == (7, 7)


def test_sampling_parameters_are_sent():
    sent = body(Prompt("p", "x"), Sampling(7, temperature=0.8, top_p=0.9, top_k=5, ignore_eos=True))
    assert (sent["temperature"], sent["top_p"], sent["top_k"], sent["ignore_eos"]) == (0.8, 0.9, 5, True)


def test_a_vllm_is_asked_for_running_usage_and_token_ids():
    assert body()["stream_options"] == {"include_usage": True, "continuous_usage_stats": True}
    assert body()["return_token_ids"] is True


def test_other_servers_get_no_extensions():
    sent = body(is_vllm=False)
    assert not {"return_token_ids", "top_k", "ignore_eos"} & sent.keys()
    assert sent["stream_options"] == {"include_usage": True}


def test_without_a_stream_there_are_no_stream_options():
    sent = body(stream=False)
    assert sent["stream"] is False
    assert "stream_options" not in sent
    assert call(stream=False).stream is False
