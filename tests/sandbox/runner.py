"""A program that makes sandboxes and is killed: `python runner.py KIND ROOT LAYER`; says `ready` when it has them."""

import json
import sys
import time
from pathlib import Path

from scienceide.envs.sandbox import provider
from scienceide.envs.sandbox.protocol import Root, SandboxSpec

kind, root, layer, end = sys.argv[1:]
maker = provider(kind)
spec = SandboxSpec(root=Root(**json.loads(root)), layers=(Path(layer),))
sandboxes = [maker.acquire(spec) for _ in range(2)]
sandboxes[0].run("echo x > y")
print("ready", flush=True)
if end == "return":
    sys.exit()
if end == "working":
    sandboxes[1].run("sleep 1000 & setsid sleep 1000")
time.sleep(1000)
