"""The checked entry point: ragged batches, generators, refusals, the greedy rule, the edges of drawing."""

import pytest
import torch

from verispec.coupling import RULES, verify


def arguments(**changes):
    """A valid call: two requests, with two drafts and one."""
    good = {
        "draft_token_ids": torch.tensor([0, 1, 2]),
        "cu_num_draft_tokens": torch.tensor([2, 3]),
        "target_probs": torch.full((3, 3), 1 / 3),
        "draft_probs": torch.full((3, 3), 1 / 3),
        "bonus_token_ids": torch.tensor([0, 0]),
    }
    return good | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"draft_token_ids": torch.tensor([0, 3, 2])}, r"draft_token_ids: row 1 is outside \[-1, 3\)"),
        ({"draft_token_ids": torch.tensor([0, 1, -2])}, "draft_token_ids: row 2"),
        ({"cu_num_draft_tokens": torch.tensor([3, 2])}, "cu_num_draft_tokens: row 1 falls"),
        ({"cu_num_draft_tokens": torch.tensor([1, 2])}, "cu_num_draft_tokens: ends at 2, expected 3"),
        (
            {"target_probs": torch.full((3, 3), 1 / 3).index_fill(0, torch.tensor([1]), float("nan"))},
            "target_probs: row 1",
        ),
        (
            {"draft_probs": torch.full((3, 3), 1 / 3).index_fill(0, torch.tensor([2]), float("nan"))},
            "draft_probs: row 2",
        ),
        ({"draft_probs": torch.full((2, 3), 1 / 3)}, r"draft_probs: shape \(2, 3\), expected \(3, 3\)"),
        ({"target_probs": torch.full((3,), 1 / 3)}, "target_probs: shape"),
        ({"bonus_token_ids": torch.tensor([0])}, "bonus_token_ids: shape"),
        ({"bonus_token_ids": torch.tensor([0, 3])}, "bonus_token_ids: row 1"),
        ({"point_mass": torch.tensor([True])}, "point_mass: shape"),
    ],
)
def test_a_wrong_argument_is_named_with_its_row(changes, message):
    with pytest.raises(ValueError, match=message):
        verify("token", **arguments(**changes))


def test_unknown_rule_is_refused_with_the_known_ones():
    with pytest.raises(ValueError, match="'tokn' is none of token, block, greedy, gumbel, typical"):
        verify("tokn", **arguments())


def test_rules_declare_what_they_are():
    assert {name: (rule.exact, rule.needs_draft_probs) for name, rule in RULES.items()} == {
        "token": (True, True),
        "block": (True, True),
        "greedy": (True, False),
        "gumbel": (True, False),
        "typical": (False, False),
    }


def test_typical_keeps_what_is_likely_enough_for_the_entropy():
    """Uniform on 4 tokens: H = log 4, threshold min(.09, .3/4) = .075 < 1/4. Peaked: H ≈ 0, threshold .09."""
    call = {"draft_probs": None, "bonus_token_ids": torch.tensor([0]), "cu_num_draft_tokens": torch.tensor([1])}
    uniform, peaked = torch.full((1, 4), 0.25), torch.tensor([[0.93, 0.05, 0.01, 0.01]])
    draft = torch.tensor([1])
    assert verify("typical", draft_token_ids=draft, target_probs=uniform, **call).num_accepted.item() == 1
    assert verify("typical", draft_token_ids=draft, target_probs=peaked, **call).num_accepted.item() == 0
    loose = verify("typical", draft_token_ids=draft, target_probs=peaked, **call, epsilon=0.01)
    assert loose.num_accepted.item() == 1


def test_options_that_a_rule_does_not_declare_are_refused():
    with pytest.raises(ValueError, match="epsilon: rule 'token' has no such option"):
        verify("token", **arguments(), epsilon=0.1)


def test_shape_and_padding_of_the_verdict():
    verdict = verify("token", **arguments())
    assert verdict.token_ids.shape == (2, 3)
    assert verdict.token_ids.dtype == torch.int64
    for tokens, accepted in zip(verdict.token_ids.tolist(), verdict.num_accepted.tolist(), strict=True):
        assert all(t >= 0 for t in tokens[: accepted + 1])
        assert all(t == -1 for t in tokens[accepted + 1 :])


def test_a_batch_without_drafts_gives_every_bonus():
    verdict = verify(
        "token",
        draft_token_ids=torch.tensor([], dtype=torch.int64),
        cu_num_draft_tokens=torch.tensor([0, 0]),
        target_probs=torch.zeros(0, 5),
        draft_probs=None,
        bonus_token_ids=torch.tensor([3, 4]),
    )
    assert verdict.token_ids.tolist() == [[3], [4]]


def test_a_requests_generator_makes_its_verdict_reproducible_whatever_its_neighbours():
    target = torch.tensor([[0.2, 0.5, 0.3]] * 3)
    draws = []
    for first_row in (torch.tensor([0, 1]), torch.tensor([2, 2])):
        torch.manual_seed(len(draws))
        verdict = verify(
            "token",
            draft_token_ids=torch.cat([first_row, torch.tensor([1])]),
            cu_num_draft_tokens=torch.tensor([2, 3]),
            target_probs=target,
            draft_probs=None,
            bonus_token_ids=torch.tensor([0, 0]),
            generator={1: torch.Generator().manual_seed(7)},
        )
        draws.append(verdict.token_ids[1].tolist())
    assert draws[0] == draws[1]


def test_a_request_without_drafts_consumes_nothing_of_its_generator():
    generator = torch.Generator().manual_seed(1)
    before = generator.get_state()
    verify("token", **arguments(cu_num_draft_tokens=torch.tensor([3, 3])), generator={1: generator})
    assert torch.equal(before, generator.get_state())


def test_greedy_keeps_the_argmax_and_repairs_with_it():
    target = torch.tensor([[0.1, 0.9], [0.8, 0.2], [0.3, 0.7]])
    verdict = verify(
        "greedy",
        draft_token_ids=torch.tensor([1, 1, 1]),
        cu_num_draft_tokens=torch.tensor([2, 3]),
        target_probs=target,
        draft_probs=None,
        bonus_token_ids=torch.tensor([0, 0]),
    )
    assert verdict.token_ids.tolist() == [[1, 0, -1], [1, 0, -1]]
    assert verdict.num_accepted.tolist() == [1, 1]


def test_token_rule_on_one_hot_rows_is_the_greedy_rule():
    """Whatever q is, and whatever is drawn: that is why one rule serves batches of greedy and sampled requests."""
    generator = torch.Generator().manual_seed(3)
    best = torch.randint(0, 4, (300,), generator=generator)
    q = torch.rand(300, 4, generator=generator).softmax(-1)
    call = {
        "draft_token_ids": torch.randint(0, 4, (300,), generator=generator),
        "cu_num_draft_tokens": torch.arange(3, 301, 3),
        "target_probs": torch.nn.functional.one_hot(best, 4).float(),
        "bonus_token_ids": torch.zeros(100, dtype=torch.int64),
    }
    greedy = verify("greedy", **call, draft_probs=None)
    for draft_probs in (None, q):
        token = verify("token", **call, draft_probs=draft_probs)
        assert torch.equal(token.token_ids, greedy.token_ids)
