"""Model weights: which ones jurybox knows, where they lie on this machine, and how they get there.

Owns the registry (`registry.toml`) and the user's cache of weights. Nothing is fetched but by `get`, nothing is put in
place whose checksum is not the registry's, and nothing here loads a model.
"""

from __future__ import annotations

from jurybox.weights.cache import folder_of, is_here, local_path, where
from jurybox.weights.fetch import get
from jurybox.weights.registry import Model, WeightsFile, find, known_models
from jurybox.weights.sources import Report

__all__ = [
    "Model",
    "Report",
    "WeightsFile",
    "find",
    "folder_of",
    "get",
    "is_here",
    "known_models",
    "local_path",
    "where",
]
