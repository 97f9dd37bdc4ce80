"""From parts to verdicts: one p per claim and step, and Holm's method over all of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from bherd.statistics import FEWEST_SEEDS, LEVEL, holm
from paper.bounds import Part

Outcome = Literal[
    "holds", "does not hold", "equal within 1%", "slower", "faster", "both", "inconclusive", "not testable"
]
UNTESTABLE = "not testable at this scale"
STEP_NAMES = ("the equation's step", "the amplified step")
RULES = """\
- *Speed* is the area under the training-loss curve over all rounds (its mean height); smaller is faster.
  Differences are relative, A / B − 1, paired over the same seeds; their mean, interval and test are those of
  log(A / B), so that a seed in which one of the two blows up does not hide the others. Where A may be ten
  times B the ratio is printed: × 25 [3, 208] is a ratio of 25 with its interval. Where a run diverged there
  is no interval: it counts as larger than any finite value, and the test is a sign test.
- In brackets is what the 95% interval says by itself: *equal* if all of it lies within ±1%, *faster* if all
  of it lies below −1%, *slower* if all of it lies above +1%, else *undecided*.
- Every claim is a statement about bounds, which its rule names. Each comparison is tested against its bound,
  two-sided. A claim about several comparisons *holds* if all of them lie on its side of their bounds: its p
  is the largest of theirs. It *does not hold* if one of them lies on the other side: its p is the smallest
  of theirs times their number. What is neither is *inconclusive*.
- The p-values are then corrected together by Holm's method: the family is one p for each claim and step of
  this page ({family} of them). A claim is decided where the corrected p is below 0.05.
- A claim is judged under both steps: *holds only with the amplified step* (or the equation's) means that it
  does not hold with the other one.
- *Not testable at this scale* means that the runs are missing, or that there are fewer than three seeds.
"""


@dataclass(frozen=True)
class Finding:
    """What was measured for one claim under one step."""

    parts: tuple[Part, ...] = ()
    two_sided: bool = False
    """Whether the parts ask for equality of areas, and the outcome is equal, slower or faster."""
    counted: bool | None = None
    """The outcome of a rule that only counts, and tests nothing."""
    seeds: int = 0
    """Of such a rule."""
    note: str = ""
    """What belongs beside the parts."""
    in_short: tuple[tuple[str, str], ...] = ()
    """Where the parts are many: what they say, case by case."""

    @property
    def n(self) -> int:
        """The seeds: the fewest of any part."""
        return min((part.n for part in self.parts), default=self.seeds)

    @property
    def is_testable(self) -> bool:
        """Whether there are enough seeds for all its parts."""
        return self.n >= FEWEST_SEEDS

    @property
    def met(self) -> float:
        """p of the claim: that of its weakest part."""
        return max(part.met for part in self.parts)

    @property
    def refuted(self) -> float:
        """p of its contrary: that of its strongest part, times the parts among which it is the strongest."""
        return min(1.0, len(self.parts) * min(part.refuted for part in self.parts))

    @property
    def p(self) -> float:
        """What goes into the family; NaN where nothing is tested."""
        return min(self.met, self.refuted) if self.parts and self.is_testable else math.nan


NOT_RUN = Finding()


@dataclass(frozen=True)
class Claim:
    """A claim of the paper with its rule, and what was measured."""

    text: str
    rule: str
    picture: str
    """The figure that shows it; its name begins with the paper's figure or is that of a section."""
    equation: Finding
    amplified: Finding
    scale: str
    conclusive: bool
    """Whether the scale gives verdicts at all."""
    controls: tuple[tuple[str, Finding], ...] = ()
    """What the controls say, measured in the same way."""

    @property
    def findings(self) -> tuple[Finding, Finding]:
        """Under the equation's step and the amplified one."""
        return self.equation, self.amplified

    @property
    def n(self) -> int:
        """The seeds."""
        return max(self.equation.n, self.amplified.n)

    @property
    def is_testable(self) -> bool:
        """Whether this scale can say anything about it."""
        return self.conclusive and any(finding.is_testable for finding in self.findings)


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict."""

    claim: Claim
    corrected: tuple[float, float]
    """Holm's p under either step; NaN where nothing was tested."""
    outcomes: tuple[Outcome, Outcome]
    verdict: str


def judge(claims: Sequence[Claim]) -> list[Judged]:
    """The verdicts on claims that are one family."""
    family = [finding.p if claim.is_testable else math.nan for claim in claims for finding in claim.findings]
    corrected = holm(family)
    judged = []
    for claim, one, other in zip(claims, corrected[::2], corrected[1::2], strict=True):
        first, second = (
            outcome(finding, p) if claim.is_testable else "not testable"
            for finding, p in zip(claim.findings, (one, other), strict=True)
        )
        judged.append(Judged(claim, (one, other), (first, second), _verdict(first, second)))
    return judged


def outcome(finding: Finding, corrected: float) -> Outcome:
    """What one finding says, given its corrected p."""
    if not finding.is_testable:
        return "not testable"
    if finding.counted is not None:
        return "holds" if finding.counted else "does not hold"
    if not corrected < LEVEL:
        return "inconclusive"
    if finding.two_sided:
        return "equal within 1%" if finding.met <= finding.refuted else _moved(finding)
    return "holds" if finding.met <= finding.refuted else "does not hold"


def _moved(finding: Finding) -> Outcome:
    """Slower or faster, or one in one case and the other in another, among the parts that are beyond
    chance."""
    level = LEVEL / len(finding.parts)
    signs = {part.difference.mean > 0 for part in finding.parts if part.refuted < level}
    return "both" if len(signs) > 1 else "slower" if True in signs else "faster"


def _verdict(equation: Outcome, amplified: Outcome) -> str:
    """One line for both steps."""
    outcomes = (equation, amplified)
    tested = [one for one in outcomes if one != "not testable"]
    if not tested:
        return UNTESTABLE
    if len(set(tested)) == 1:
        return "slower in one case, faster in another" if tested[0] == "both" else tested[0]
    if "inconclusive" not in outcomes:
        return f"holds only with {STEP_NAMES[outcomes.index('holds')]}"
    return "; ".join(f"{one} with {name}" for one, name in zip(outcomes, STEP_NAMES, strict=True))
