"""The endpoints: every worker is asked, and answers for itself."""

import asyncio
import json
import logging
from types import SimpleNamespace

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from prometheus_client import CollectorRegistry

from verispec.engine.status import StatusEndpoint

MANIFEST = {"contract_sha256": "a" * 64, "contract": {"kind": "exact"}}


class Engine:
    """Each question is answered by the next of the given lists, a worker of each engine, then by the last for ever."""

    def __init__(self, *answers, settings=None):
        self.answers = list(answers)
        self.vllm_config = SimpleNamespace(additional_config={"verispec": settings or {}})

        self.asked = []
        self.engine_core = SimpleNamespace(call_utility_all_async=self._of_engines)

    async def _of_engines(self, method, *arguments):
        if method != "collective_rpc":
            return [{"committed_tokens": 7}]
        worker_method, _, args, _ = arguments
        self.asked.append((worker_method, args))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [[worker] for worker in answer]


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    monkeypatch.delenv("VERISPEC_DISABLE", raising=False)
    monkeypatch.setattr("verispec.engine.status._READING_S", 0.01)
    monkeypatch.setattr("prometheus_client.REGISTRY", CollectorRegistry())


def client(engine):
    endpoint, app = StatusEndpoint(), FastAPI()
    endpoint.attach_router(app)
    asyncio.run(endpoint.init_state(engine, None, None))
    return TestClient(app)


def get(engine, path="/verispec/manifest"):
    return client(engine).get(path)


def test_the_status_is_that_of_workers_and_engine_cores():
    assert get(Engine([{"pid": 1}, None]), "/verispec/status").json() == {
        "workers": [{"pid": 1}, None],
        "commits": [{"committed_tokens": 7}],
    }


@pytest.mark.parametrize("on", [True, False])
def test_drafting_is_switched_in_every_worker(on):
    engine = Engine([{"pid": 1}, {"pid": 2}])
    response = client(engine).post("/v1/verispec/drafting", json={"on": on})
    assert response.json() == {"workers": [{"pid": 1}, {"pid": 2}]}
    assert engine.asked == [("verispec_switch", (on,))]


def test_where_there_is_no_drafting_the_switch_says_so():
    response = client(Engine([None])).post("/v1/verispec/drafting", json={"on": False})
    assert response.status_code == 409
    assert "no drafting on this server" in response.json()["detail"]


@pytest.mark.parametrize("body", [{}, {"on": "maybe"}, {"on": 1}, {"off": True}])
def test_another_word_than_on_or_off_switches_nothing(body):
    engine = Engine([{"pid": 1}])
    assert client(engine).post("/v1/verispec/drafting", json=body).status_code == 422
    assert engine.asked == []


def test_the_manifest_is_awaited_while_files_are_read():
    response = get(Engine([{}, {}], [MANIFEST, {}], [MANIFEST, MANIFEST]))
    assert (response.status_code, response.json()) == (200, MANIFEST)


def test_there_is_none_where_verispec_is_not_active():
    response = get(Engine([None]))
    assert response.status_code == 404
    assert "not active" in response.json()["detail"]


def test_workers_that_disagree_have_none():
    response = get(Engine([MANIFEST, MANIFEST | {"contract_sha256": "b" * 64}]))
    assert response.status_code == 409
    assert "do not agree" in response.json()["detail"]


def test_the_kill_switch_takes_the_routes_away(monkeypatch):
    monkeypatch.setenv("VERISPEC_DISABLE", "1")
    assert get(Engine([MANIFEST])).status_code == 404
    assert get(Engine([MANIFEST]), "/verispec/status").status_code == 404


def started(engine):
    async def start():
        endpoint = StatusEndpoint()
        await endpoint.init_state(engine, None, None)
        await endpoint._writing

    asyncio.run(start())


def test_a_server_writes_its_manifest_where_the_settings_say(tmp_path):
    started(Engine([{}], [MANIFEST], settings={"manifest": str(tmp_path / "release.json")}))
    assert json.loads((tmp_path / "release.json").read_text()) == MANIFEST
    assert [path.name for path in tmp_path.iterdir()] == ["release.json"]


@pytest.mark.parametrize(("answer", "reason"), [(None, "not active"), (MANIFEST, "No such file")])
def test_a_manifest_that_cannot_be_written_is_one_line_in_the_log(tmp_path, caplog, answer, reason):
    with caplog.at_level(logging.ERROR, logger="vllm.verispec"):
        started(Engine([answer], settings={"manifest": str(tmp_path / "no" / "release.json")}))
    (line,) = [record.getMessage() for record in caplog.records]
    assert "the release manifest is not written" in line
    assert reason in line
