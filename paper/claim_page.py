"""The claims on the page: a short table, then a section for each with its rule and its numbers."""

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from paper import tables
from paper.bounds import Part
from paper.tables import ClaimRow
from paper.verdict import Claim, Finding, Judged
from paper.wording import effect, p_value

FIGURES = "figures"
ALL_CLAIMS = "claims.csv"


def claim_table(judged: Sequence[Judged]) -> str:
    """A line for each claim: what was found, between which extremes, with how many seeds."""
    lines = [
        "| | claim | equation's step | amplified step | verdict | n | scale |",
        "|---|---|---|---|---|---|---|",
    ]
    for number, one in enumerate(judged, start=1):
        claim = one.claim
        lines.append(
            f"| [{number}](#{number}) | {claim.text} | {span(claim.equation)} | {span(claim.amplified)} "
            f"| **{one.verdict}** | {claim.n or '–'} | {claim.scale} |"
        )
    return "\n".join(lines)


def span(finding: Finding) -> str:
    """The smallest and the largest effect among the parts; ratios apart from differences."""
    if finding.counted is not None:
        return "counted"
    texts = []
    for is_ratio in (True, False):
        means = [part.difference.interval.mean for part in finding.parts if part.is_ratio == is_ratio]
        ends = [effect(value, is_ratio=is_ratio) for value in sorted(means)[:: max(1, len(means) - 1)]]
        texts += [" to ".join(dict.fromkeys(ends))] if ends else []
    return "; ".join(texts) or "–"


def claim_sections(judged: Sequence[Judged], root: Path, page: Path) -> str:
    """A section for each claim: verdict, rule, figure, numbers."""
    return "\n\n".join(_section(number, one, root, page) for number, one in enumerate(judged, start=1))


def _section(number: int, judged: Judged, root: Path, page: Path) -> str:
    claim = judged.claim
    parts = [
        f'<a id="{number}"></a>\n\n### {number}. {claim.text}',
        f"**{judged.verdict}** ({claim.scale} scale, n = {claim.n}). Rule: {claim.rule}",
    ]
    rows = [
        (name, finding, outcome, p)
        for name, finding, outcome, p in zip(
            ("equation's step", "amplified step"),
            claim.findings,
            judged.outcomes,
            judged.corrected,
            strict=True,
        )
        if finding.parts
    ]
    cases = list(dict.fromkeys(part.case for row in rows for part in row[1].parts))
    if rows:
        head = " | ".join(case or "effect" for case in cases)
        lines = [f"| | {head} | corrected p | |", "|---" * (len(cases) + 3) + "|"]
        lines += [
            f"| {name} | {cells(found, cases)} | {p_value(p)} | {word} |" for name, found, word, p in rows
        ]
        lines += [f"| {name} | {cells(found, cases)} | | |" for name, found in claim.controls]
        parts.append("\n".join(lines))
    parts += notes(claim)
    picture = root / claim.scale / FIGURES / f"{claim.picture}.png"
    if claim.picture and picture.is_file():
        parts.append(f"[Figure {claim.picture}]({link_to(picture, page)})")
    return "\n\n".join(parts)


def notes(claim: Claim) -> list[str]:
    """What belongs beside the numbers; with its step where the two differ."""
    one, other = (finding.note for finding in claim.findings)
    if one == other or not (one and other):
        return [one or other] if one or other else []
    return [f"Equation's step: {one}\n\nAmplified step: {other}"]


def cells(finding: Finding, cases: Sequence[str]) -> str:
    """What was found in each case, a cell for each."""
    if finding.in_short:
        return " | ".join(dict(finding.in_short).get(case, "–") for case in cases)
    found = {case: list(parts) for case, parts in groupby(finding.parts, key=lambda part: part.case)}
    return " | ".join("<br>".join(_line(part) for part in found.get(case, [])) or "–" for case in cases)


def _line(part: Part) -> str:
    return f"{part.what} {part.text}".strip()


def link_to(path: Path, page: Path) -> str:
    """A link relative to the page."""
    return Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix()


def write_claims(root: Path, judged: Sequence[Judged]) -> None:
    """Every number that a verdict rests on, as one table beside the scales."""
    rows = []
    for number, one in enumerate(judged, start=1):
        claim = one.claim
        for step, finding, outcome, p in zip(
            ("equation", "amplified"), claim.findings, one.outcomes, one.corrected, strict=True
        ):
            rows += [
                ClaimRow(
                    number,
                    claim.text,
                    step,
                    part.case,
                    part.what.rstrip(":"),
                    part.n,
                    *part.difference.interval[:3],
                    part.difference.test,
                    part.met,
                    part.refuted,
                    p,
                    outcome,
                    one.verdict,
                    claim.scale,
                )
                for part in finding.parts
            ]
    tables.write_rows(root / ALL_CLAIMS, ClaimRow, rows)
