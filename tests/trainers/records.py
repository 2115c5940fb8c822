"""Episode records made by hand."""

from scienceide.envs.record import EpisodeRecord, Span
from scienceide.verifiers import CaseVerdict, Verdict


def verdict(reward, floor=0.2):
    if reward is None:
        return Verdict.ungraded("no sandbox", floor=floor)
    return Verdict.graded(cases=[CaseVerdict(name="c", score=floor + (1 - floor) * reward)], floor=floor)


def record(episode="e", task="env/a", reward=1.0, agent="oracle", hint=None, seed=0, messages=None):
    said = [
        {"role": "user", "content": "Put line 2 right."},
        {"role": "assistant", "content": "@edit line=2\n    return -x"},
    ]
    return EpisodeRecord(
        episode=episode,
        task=task,
        agent=agent,
        seed=seed,
        hint=hint,
        model="m",
        messages=said if messages is None else messages,
        actions=['{"tool": "submit"}'],
        spans=[Span(1, (5, 6, 7), (-0.5, -0.25, -0.125), 3), Span(1, (8,), None, 4)],
        verdict=verdict(reward),
        termination="submitted",
        seconds={"reset": 0.5, "model": 1.25},
        tokens={"prompt": 10, "generated": 4},
    )
