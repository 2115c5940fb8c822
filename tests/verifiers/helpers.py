"""Short ways to write observables and the files that hold them."""

import io
import json

import numpy as np

from scienceide.verifiers import ObservableSpec, Outputs


def observable(name="x", file="o.npz", criterion=None, shape=None, evidence=None, **location):
    """An observable; `.npz` files get the observable's name as key unless told otherwise."""
    if file.endswith(".npz"):
        location.setdefault("key", name)
    return ObservableSpec.model_validate(
        {
            "name": name,
            "from": {"file": file, **location},
            "shape": shape,
            "criterion": criterion or {"kind": "norm", "norm": "linf", "scale": "field", "tolerance": 1e-9},
            "evidence": evidence,
        }
    )


EXACT = {"kind": "exact"}


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npy(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=True)
    return buffer.getvalue()


def as_json(value):
    return json.dumps(value).encode()


def outputs(**arrays):
    return Outputs({name: np.asarray(array) for name, array in arrays.items()})
