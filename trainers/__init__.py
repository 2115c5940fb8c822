"""Models, trajectories, supervised fine-tuning, reinforcement learning and evaluation.

    models, smollm2, tiny, templates   what can be run and trained, and how it is had
    policy, collect, trajectories      playing episodes with a model, and keeping them
    samples, sft                       learning from trajectories
    trl_env, grpo, rl                  learning from rewards
    statistics, evaluate               measuring
    config, selection, training        what the jobs have in common

Importing any of them imports no torch; functions that need it do.
"""
