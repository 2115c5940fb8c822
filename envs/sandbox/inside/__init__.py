"""The command server: the first process in every sandbox.

It runs on whatever Python the sandbox has, without site-packages, so this package uses the standard
library and relative imports only, and few modules of it: a sandbox starts as fast as they load (so named
tuples, where the rest of the house has dataclasses).

The host imports some of its modules, too: the wire format, the mounts and the comparison of trees are the
same on both sides.
"""
