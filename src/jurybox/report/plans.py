"""A plan in words: what a run would ask, cost and take, one block a judge."""

from __future__ import annotations

from jurybox.runner import JudgePlan, Plan


def plan_text(plan: Plan) -> str:
    lines = [f"{plan.items:,} items by {plan.systems:,} systems; {plan.judgments:,} judgments"]
    for name, judge in plan.judges.items():
        lines += ["", f"Judge {name}", *(f"  {label:<19}{text}" for label, text in _rows(judge))]
    assumed = plan.assumptions
    workers = int(assumed.get("workers", 1))
    in_flight = f"{assumed['concurrency']:g} in flight" + (f" in each of {workers} workers" if workers > 1 else "")
    lines += [
        "",
        f"Assumed: 4 characters a token, {assumed['tokens_out_a_rubric']:g} tokens out a rubric, nothing from a prefix",
        f"cache, {assumed['seconds_a_call']:.3g} s a call, {in_flight}. Nothing was sent.",
    ]
    return "\n".join(lines)


def _rows(judge: JudgePlan) -> list[tuple[str, str]]:
    rows = [("calls to send", f"{judge.calls:,}"), ("already stored", f"{judge.stored:,}")]
    if judge.reused:
        rows.append(("in the cache", f"{judge.reused:,}"))
    if judge.too_long:
        rows.append(("too long", f"{judge.too_long:,} would be refused: see --long"))
    rows += [
        ("tokens in", f"about {judge.tokens_in:,}"),
        ("tokens out", f"about {judge.tokens_out:,}"),
        ("cost", _money(judge.cost) + (f" ({judge.prices})" if judge.prices and judge.cost is not None else "")),
    ]
    if judge.batch_cost is not None:
        rows.append(("cost with --batch", f"{_money(judge.batch_cost)}, where the server has batches"))
    measured = "" if judge.seconds_a_call is None else f" (a call took {judge.seconds_a_call:.2g} s so far)"
    rows.append(("time", f"about {_duration(judge.seconds)}{measured}"))
    if judge.batch_cost is not None:
        rows.append(("time with --batch", "mostly within an hour, at most a day"))
    return rows


def _money(amount: float | None) -> str:
    return "unknown (give --price IN,OUT)" if amount is None else f"${amount:,.2f}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} h" if seconds < 172_800 else f"{seconds / 86400:,.1f} days"
