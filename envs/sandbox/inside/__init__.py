"""The command server: the first process in every sandbox.

It runs on whatever Python the sandbox has, without site-packages, so this package uses the standard
library and relative imports only. The host imports some of its modules too: the wire format, the mounts
and the comparison of trees are the same on both sides.
"""
