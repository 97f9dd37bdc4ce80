"""What is said of a comparison: every method named, three words, and no cause without its controls."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bherd
from bherd.conclusion import Contender, Role, conclude, role_of

FEDAVG = Role("fedavg", "everything", 1.0, 1.0, 1.0, "terms")
FASTER = Role("fedavg", "everything", 1.0, 2.0, 2.0, "terms")
RANDOM = Role("fedavg", "random", 0.5, 2.0, 1.0, "terms")
HERD = Role("fedavg", "chosen", 0.5, 2.0, 1.0, "terms")
SHORT_HERD = Role("fedavg", "chosen", 0.5, 1.0, 1.0, "terms")


def ends(label: str, *finals: float, role: Role | None = None) -> Contender:
    return Contender(label, dict(enumerate(finals)), len(finals), role)


def text(*contenders: Contender) -> str:
    return " ".join(conclude(contenders))


def demo(herd: tuple[float, ...], plain: float = 0.80, faster: float = 0.85) -> str:
    """The text on a gain, given the herd's accuracies beside steady baselines."""
    steady = [1e-4 * i for i in range(len(herd))]
    return text(
        ends("fedavg", *(plain + s for s in steady), role=FEDAVG),
        ends("fedavg twice", *(faster - s for s in steady), role=FASTER),
        ends("random", *(faster + s / 2 for s in steady), role=RANDOM),
        ends("herd", *herd, role=HERD),
    )


def test_not_shown_to_differ_is_undecided_and_never_no_difference() -> None:
    """The lower one is too uncertain to be called behind, though a higher one is."""
    said = text(
        ends("best", 0.834, 0.832, 0.833),
        ends("steady", 0.810, 0.811, 0.810),
        ends("wild", 0.833, 0.770, 0.808),
    )
    assert said.startswith(
        "best ends highest, at 83.30% test accuracy. It is ahead of steady (81.03%) by 2.27"
    )
    assert "Undecided: wild (80.37%, −2.93 ± " in said
    assert "no difference" not in said.lower()
    assert said.endswith("± is the 95% interval over 3 paired seeds, corrected for 3 comparisons.")


def test_equal_only_where_the_interval_lies_within_the_named_margin() -> None:
    said = text(ends("a", 0.801, 0.802, 0.800), ends("b", 0.800, 0.801, 0.800))
    assert "Equal to it within 0.5 points: b (80.03%, −0.07 ± 0.14 points)." in said
    said = text(ends("a", 0.84, 0.80, 0.82), ends("b", 0.80, 0.83, 0.81))
    assert "Undecided: b (81.33%, −0.67 ± " in said


def test_one_seed_says_nothing_about_chance() -> None:
    said = text(
        ends("fedavg", 0.80, role=FEDAVG),
        ends("fedavg twice", 0.84, role=FASTER),
        ends("herd", 0.82, role=HERD),
    )
    assert said == (
        "fedavg twice ends highest, at 84.00% test accuracy. Undecided: herd (82.00%, −2.00 points) and "
        "fedavg (80.00%, −4.00 points). One seed says nothing about chance."
    )


def test_two_seeds_decide_nothing() -> None:
    said = text(ends("a", 0.90, 0.90), ends("b", 0.80, 0.80))
    assert "ahead" not in said
    assert "Undecided: b (80.00%, −10.00 ± 0.00 points)." in said
    assert said.endswith("fewer than 3 seeds decide nothing.")


def test_methods_without_a_seed_in_common() -> None:
    said = text(Contender("a", {0: 0.9}, 1), Contender("b", {1: 0.8}, 1))
    assert "b (80.00%, no seed in common)" in said
    assert said.endswith("Without a seed in common nothing can be compared.")


@pytest.mark.parametrize(
    ("herd", "expected"),
    [
        (
            (0.850, 0.849, 0.851, 0.850),
            "the gain comes from the longer step, not from which gradients are kept.",
        ),
        ((0.95, 0.94, 0.96, 0.95), "part of the gain comes from which gradients are kept."),
        ((0.832, 0.831, 0.833, 0.832), "which gradients are kept costs some of it."),
        ((0.846, 0.851, 0.848, 0.844), "which gradients are kept adds at most 0."),
        ((0.85, 0.87, 0.86, 0.83), "what the gain comes from is undecided."),
        ((0.80, 0.801, 0.799, 0.80), "gains nothing over fedavg (−0.01"),
        ((0.75, 0.751, 0.749, 0.75), "herd ends below fedavg (−5.02"),
        ((0.95, 0.75, 0.85, 0.80), "no gain of herd over fedavg is shown (+3.7"),
    ],
)
def test_a_cause_is_named_only_where_the_controls_show_it(herd: tuple[float, ...], expected: str) -> None:
    said = demo(herd)
    assert f"With a step 2 times as long, {'' if 'no gain' in expected else 'herd '}" in said
    assert expected in said
    if "gain comes from the longer step" not in expected and "are kept" not in expected:
        assert "comes from the longer step" not in said


def test_a_step_that_gains_nothing_alone_explains_no_gain() -> None:
    """The herd is ahead of FedAvg, and the control at its step is too uncertain to be."""
    said = text(
        ends("fedavg", 0.80, 0.801, 0.80, 0.801, role=FEDAVG),
        ends("fedavg twice", 0.80, 0.99, 0.75, 0.95, role=FASTER),
        ends("herd", 0.84, 0.841, 0.842, 0.84, role=HERD),
    )
    assert "what the gain comes from is undecided" in said


def test_without_controls_no_cause_is_named() -> None:
    finals = (0.85, 0.851, 0.85)
    said = text(ends("fedavg", 0.80, 0.80, 0.801, role=FEDAVG), ends("herd", *finals, role=HERD))
    assert "Nothing here tells what it comes from: run fedavg,server_lr=2 and random-fedavg" in said
    said = text(ends("fedavg", 0.80, 0.80, 0.801, role=FEDAVG), ends("herd", *finals, role=SHORT_HERD))
    assert "At the same step, herd gains 5.0" in said
    assert "run random-fedavg," in said
    other_terms = Role("fedavg", "everything", 1.0, 1.0, 1.0, "other terms")
    said = text(ends("fedavg", 0.80, 0.80, 0.801, role=other_terms), ends("herd", *finals, role=HERD))
    assert "gains" not in said


def test_roles_come_from_configurations() -> None:
    base = bherd.Config().replace(method="fedavg", order="fixed")
    plain = role_of(base.replace(name="fedavg", server_lr=2.0), 2.0)
    herd = role_of(base.replace(name="bherd-fedavg", step="amplified", seed=3, workers=2), 2.0)
    drawn = role_of(base.replace(name="random-fedavg", step="amplified"), 2.0)
    assert plain is not None
    assert herd is not None
    assert drawn is not None
    assert (plain.keeps, herd.keeps, drawn.keeps) == ("everything", "chosen", "random")
    assert plain.base == herd.base == drawn.base == "fedavg"
    assert plain.terms == herd.terms == drawn.terms
    shuffled = role_of(bherd.Config().replace(name="fedavg"), 1.0)
    assert shuffled is not None
    assert shuffled.terms != herd.terms
    assert role_of(base.replace(name="reversed-fedavg"), 1.0) is None
    assert role_of(base, None) is None


def test_a_role_knows_whether_a_rate_is_a_length() -> None:
    """Adam's rate is none: only the same Adam is the same method without selection."""
    base = bherd.Config().replace(order="reshuffled")
    herd, plain, other = (
        role_of(base.replace(name=text), 1.0)
        for text in ("bherd-fedadam", "fedadam", "fedadam,server.lr=0.5")
    )
    assert herd is not None
    assert plain is not None
    assert other is not None
    assert herd.server_lr is None
    assert herd.terms == plain.terms != other.terms
    slow, slower = (role_of(base.replace(name="fedavgm", server_lr=lr), lr) for lr in (1.0, 0.5))
    assert slow is not None
    assert slower is not None
    assert (slow.server_lr, slower.server_lr) == (1.0, 0.5)
    assert slow.terms == slower.terms
    finals = (0.85, 0.851, 0.85)
    longer = Role("fedadam", "chosen", 0.5, 2.0, None, "terms")
    plain_adam = Role("fedadam", "everything", 1.0, 1.0, None, "terms")
    said = text(ends("plain", 0.80, 0.80, 0.801, role=plain_adam), ends("herd", *finals, role=longer))
    assert "run random-fedadam," in said


def test_lost_methods_are_named_and_not_ranked() -> None:
    said = text(
        ends("a", 0.8, 0.81, 0.8), ends("b", 0.99, -math.inf, 0.99), Contender("c", {0: 0.9}, 3, None)
    )
    assert said.startswith("a ends at 80.33% ± ")
    assert "b diverged in 1 of 3 runs and is not ranked." in said
    assert "c has 2 of 3 runs unfinished and is not ranked." in said


@given(st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=5), min_size=1, max_size=6))
def test_every_method_is_named_and_nothing_is_nan(rows: list[list[float]]) -> None:
    contenders = [ends(f"m{i}", *row) for i, row in enumerate(rows)]
    said = text(*contenders)
    assert all(one.label in said for one in contenders)
    assert "nan" not in said
    assert "no difference" not in said.lower()
