"""The controller drafts where it pays, stops where it does not, and never looks at what was drawn."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from verispec.control import Batch, Step, choice, estimates, make_controller, step_costs
from verispec.control.controller import Controller, _stated
from verispec.drafting import DraftRequest, Proposal, SparseLaw
from verispec.settings import ControlSettings


def request(name="a", max_tokens=8, temperature=0.0):
    return DraftRequest(name, np.zeros(4, np.int32), max_tokens, temperature)


def proposal(chances=(0.9, 0.9, 0.9, 0.9), first=100):
    return Proposal(list(range(first, first + len(chances))), acceptance=list(chances))


class World:
    """A server whose steps cost what `seconds` says, and whose requests keep drafts with given chances."""

    def __init__(self, seconds, settings=None, kept=None, prompt_tokens=0):
        self.prompt_tokens = prompt_tokens
        self.controller = Controller(settings or ControlSettings())
        self.seconds, self.kept = seconds, kept or {}
        self.rng = np.random.default_rng(0)
        self.spent = 0.0
        self.tokens = dict.fromkeys(self.kept, 0)

    def run(self, steps, chances=(0.8,) * 4):
        """Lengths of each step."""
        names, history = list(self.kept), []
        drafts = [proposal(chances) for _ in names]
        for _ in range(steps):
            requests = [request(n) for n in names]
            lengths = self.controller.choose(requests, drafts, [], 100 * len(names), self.prompt_tokens)
            history.append(lengths)
            tokens = len(names) + sum(lengths)
            committed = {}
            for name, draft, length in zip(names, drafts, lengths, strict=True):
                right = 0
                while right < len(draft.token_ids) and self.rng.random() < self.kept[name]:
                    right += 1
                kept = min(right, length)
                follows = draft.token_ids[kept] if right > kept else 7
                committed[name] = [*draft.token_ids[:kept], follows]
                self.tokens[name] += len(committed[name])
            seconds = self.seconds(tokens + self.prompt_tokens) * np.exp(0.03 * self.rng.standard_normal())
            self.spent += seconds
            batch = Batch(len(names), 100 * len(names), self.prompt_tokens)
            self.controller.step_ended(committed, Step(batch, sum(lengths), seconds))
        return np.array(history)


def test_the_first_step_is_one_without_drafts():
    assert Controller(ControlSettings()).choose([request()], [proposal()], [], 100) == [0]


def test_steps_grow_by_degrees_while_nothing_is_known_of_larger_ones():
    world = World(lambda tokens: 0.01 * tokens, kept=dict.fromkeys("abcd", 0.9))
    sizes = 4 + world.run(30, chances=(0.95,) * 16).sum(axis=1)
    assert (sizes[1:] <= 2 * np.maximum.accumulate(sizes)[:-1] + 4).all()


def test_where_drafts_are_nearly_free_all_are_submitted():
    world = World(lambda tokens: 0.1 + 0.0005 * tokens, kept={"a": 0.8})
    assert world.run(400)[200:].mean() > 3.5


def test_where_each_draft_costs_as_much_as_a_token_none_is_submitted():
    world = World(lambda tokens: 0.01 * tokens, kept=dict.fromkeys("abcd", 0.5))
    assert world.run(600)[200:].mean() < 0.05


def test_a_server_that_reads_a_prompt_in_every_step_drafts_where_it_pays():
    seconds = lambda tokens: 0.02 + 0.0005 * tokens  # noqa: E731
    world = World(seconds, kept=dict.fromkeys("abcd", 0.8), prompt_tokens=500)
    assert world.run(400)[200:].mean() > 3.5


def test_a_step_that_a_prompt_makes_long_is_no_reason_to_draft():
    """Each draft costs as much as a token does; the prompt's time, which none can save, would pay for all of them."""
    world = World(lambda tokens: 0.01 * tokens, kept=dict.fromkeys("abcd", 0.5), prompt_tokens=100)
    world.run(300)
    world.prompt_tokens = 0
    world.run(300)
    world.prompt_tokens = 100
    assert world.run(100).mean() < 0.5


def test_time_of_prompts_is_no_gain_of_drafts():
    """Two tokens out of a step of which a prompt takes most save one step of decoding, not a second prompt."""
    world = World(lambda tokens: 0.05 + 0.001 * tokens, ControlSettings(max_slowdown=None), {"a": 0.5}, 1000)
    world.run(100)
    world.prompt_tokens = 0
    world.run(200)
    choices = world.controller.choices
    spent, without = choices.spent_seconds, choices.target_only_seconds
    world.prompt_tokens = 1000
    world.run(100)
    saved = (choices.target_only_seconds - without) - (choices.spent_seconds - spent)
    assert saved < 100 * 2 * 0.06


def test_first_tokens_beside_decoding_are_no_tokens_of_drafts():
    """Four prompts end in a step in which one request commits five tokens: it saved four steps of decoding."""
    controller = Controller(ControlSettings())
    for _ in range(50):
        controller.step_ended({"a": [1]}, Step(Batch(1, 100), 0, 0.05))
    before = controller.choices.target_only_seconds
    controller.step_ended({"a": [1] * 5, "b": [1], "c": [1], "d": [1], "e": [1]}, Step(Batch(1, 100), 4, 0.05))
    assert controller.choices.target_only_seconds - before == pytest.approx(5 * 0.05, rel=0.1)


def test_no_request_waits_for_the_drafts_of_others():
    """A step has room for eight tokens: three requests, five drafts."""
    world = World(lambda tokens: 0.05, ControlSettings(max_slowdown=None), {"a": 0.9, "b": 0.9, "c": 0.9})
    assert world.run(100).sum(axis=1).max() == 12
    world.controller = Controller(ControlSettings(max_slowdown=None), most_step_tokens=8)
    assert world.run(100).sum(axis=1).max() == 5


def test_a_request_whose_drafts_fail_gets_none_while_its_neighbours_do():
    world = World(lambda tokens: 0.05 + 0.02 * tokens, ControlSettings(max_slowdown=None), {"good": 0.9, "bad": 0.05})
    lengths = world.run(400)[200:]
    assert lengths[:, 0].mean() > 1.5
    assert lengths[:, 1].mean() < 0.2


def test_drafts_that_are_held_back_are_still_judged():
    """Acceptance that comes back is noticed without submitting anything."""
    world = World(lambda tokens: 0.02 + 0.02 * tokens, kept={"a": 0.05})
    assert world.run(300)[200:].mean() < 0.1
    world.kept["a"] = 0.97
    assert world.run(300)[200:].mean() > 2


def test_no_request_falls_behind_target_only_for_the_sake_of_others():
    seconds = lambda tokens: 0.05 + 0.02 * tokens  # noqa: E731
    kept = {"good": 0.95, "bad": 0.0}
    unguarded = World(seconds, ControlSettings(max_slowdown=None), kept)
    guarded = World(seconds, ControlSettings(max_slowdown=0.02), kept)
    unguarded.run(600)
    guarded.run(600)
    target_only = seconds(2)
    assert unguarded.spent / unguarded.tokens["bad"] > 1.2 * target_only
    assert guarded.spent / guarded.tokens["bad"] < 1.05 * target_only


def test_a_machine_that_is_slow_for_a_while_is_no_fault_of_drafts():
    """Steps that were unlucky count against nobody: drafts go on where they pay."""
    seconds = lambda tokens: 0.05 + 0.0005 * tokens  # noqa: E731
    world = World(seconds, ControlSettings(max_slowdown=0.1), {"good": 0.9, "bad": 0.0})
    before = world.run(200)[100:].mean()
    world.seconds = lambda tokens: 3 * seconds(tokens)
    assert world.run(20).mean() > 0.7 * before


def test_fixed_submits_all_that_is_proposed():
    world = World(lambda tokens: 0.01 * tokens, ControlSettings(mode="fixed"), {"a": 0.0})
    assert (world.run(100) == 4).all()


def test_the_gain_is_estimated_by_decisions_without_drafts():
    world = World(lambda tokens: 0.1 + 0.002 * tokens, kept={"a": 0.9})
    world.run(400)
    choices = world.controller.choices
    true = world.tokens["a"] * 0.102 / world.spent
    assert choices.target_only_seconds / choices.spent_seconds == pytest.approx(true, rel=0.05)
    assert 0 < choices.decisions_to_look < 40


def test_the_time_per_token_can_be_what_counts():
    """Drafts for one make each step longer than the target allows the other."""
    settings = ControlSettings(max_slowdown=None, tpot_target_ms=100)
    world = World(lambda tokens: 0.05 + 0.02 * tokens, settings, {"good": 0.95, "bad": 0.0})
    assert world.run(400)[200:].mean() < 0.3


def drawn(tokens):
    law = SparseLaw(torch.tensor([[100, 200]] * len(tokens)), torch.full((len(tokens), 2), 0.5))
    return Proposal(tokens, law, [0.9, 0.5, 0.3, 0.2])


def test_how_much_is_submitted_does_not_depend_on_what_was_drawn():
    """Same history, other draws, in content and in length: every draft that exists is submitted in both or in none."""
    for seed in range(20):
        world = World(lambda tokens: 0.03 + 0.02 * tokens, kept={"a": 0.5})
        world.rng = np.random.default_rng(seed)
        world.run(50)
        state = world.controller
        chosen = [
            state._best(["a"], *chances_of(state, draft), Batch(1, 100))
            for draft in (drawn([100, 100, 100, 100]), drawn([200, 100, 200, 200]), drawn([200]))
        ]
        assert chosen[0] == chosen[1] == chosen[2]


def chances_of(controller, draft):
    stated, counts = _stated([request()], [draft])
    return controller.estimates.chances(["a"], [draft.source], stated), counts


def test_of_drawn_drafts_only_the_submitted_are_held_against_what_comes():
    """One that was held back says nothing of its overlap with the target."""
    controller = Controller(ControlSettings())
    controller._best = lambda *_: [1]
    controller.choose([request()], [drawn([100, 200, 100])], [], 100)
    controller.step_ended({"a": [100, 200, 100]}, None)
    assert sum(controller.estimates.reliability.drafts) == 1
    controller.choose([request()], [replace(drawn([100, 200, 100]), probs=None)], [], 100)
    controller.step_ended({"a": [100, 200, 100]}, None)
    assert sum(controller.estimates.reliability.drafts) == 4


def test_estimates_that_are_missing_are_learned_by_position():
    world = World(lambda tokens: 0.1 + 0.001 * tokens, kept={"a": 0.9})
    world.controller.choose([request()], [Proposal([1, 2, 3])], [], 100)
    for _ in range(200):
        world.controller.choose([request()], [Proposal([1, 2, 3])], [], 100)
        world.controller.step_ended({"a": [1, 2, 9]}, None)
    chances = world.controller.estimates.chances(["a"], [""], np.full((1, 3), 0.5))[0]
    assert chances[0] > 0.8
    assert chances[2] < 0.5


def signatures():
    """What is compiled of the functions that are called from Python."""
    called = choice.draft_lengths, estimates._chances, estimates._observe, *vars(step_costs).values()
    return {made.__name__: list(made.signatures) for made in called if hasattr(made, "signatures")}


def run_a_while_and_see_what_is_compiled():
    settings = ControlSettings(tpot_target_ms=100)
    make_controller(settings)
    before = signatures()
    for prompt_tokens in (0, 100):
        World(lambda tokens: 0.1 + 0.001 * tokens, settings, dict.fromkeys("abc", 0.8), prompt_tokens).run(60)
    World(lambda tokens: 0.1 + 0.001 * tokens, ControlSettings(max_slowdown=None), {"a": 0.8}).run(20)
    Controller(settings).choose([request(temperature=0.8)], [drawn([100, 200])], ["b"], 100)
    assert all(before[name] for name in ("draft_lengths", "_chances", "_observe", "_at", "_seconds", "_add"))
    assert signatures() == before


def test_nothing_is_compiled_once_requests_come():
    """In a process of its own: what other tests have compiled would count."""
    here = f"{__name__}.{run_a_while_and_see_what_is_compiled.__name__}()"
    subprocess.run([sys.executable, "-c", f"import {__name__}; {here}"], check=True)


def test_drafts_are_judged_once_and_only_those_of_requests_that_are_known():
    controller = Controller(ControlSettings())
    controller.choose([request("a"), request("b")], [proposal(), proposal()], [], 100)
    controller.forget(["b"])
    for _ in range(2):
        controller.step_ended({"a": [100, 7], "b": [100, 7]}, None)
    assert controller.estimates.reliability.drafts.sum() == 2


def test_drafts_are_not_held_against_what_came_after_a_rest():
    """Drafting was off for a while: what was drafted before says nothing of what comes now."""
    controller = Controller(ControlSettings())
    controller.choose([request()], [proposal()], [], 100)
    controller.forget(["a"])
    controller.step_ended({"a": [100, 101]}, None)
    assert controller.estimates.reliability.drafts.sum() == 0


def test_ended_requests_leave_nothing():
    controller = Controller(ControlSettings())
    controller.choose([request()], [proposal()], ["b"], 100)
    controller.forget(["a", "b"])
    assert len(controller._accounts) == len(controller.estimates._requests) == 0
    controller.step_ended({"c": [1]}, None)
    assert len(controller.estimates._requests) == 0
