"""What holds for every installed extractor."""

from __future__ import annotations

import dataclasses
import pickle
import re
import subprocess
import sys
from typing import get_type_hints

import pytest

from lookaway.core import Compute, describe, plugins
from lookaway.perception.quality.lab_means import LabMeans

NAMES = plugins.names("extractors")
ARRAY = re.compile(r"(u?int|float|bool)(8|16|32|64)? \[\w+( \+ \d)?(, \w+( \+ \d)?)*\]: \S.*[^.]")
HEAVY = ("torch", "transformers", "onnxruntime", "cv2", "scipy.optimize", "poselib")


@pytest.mark.parametrize("name", NAMES)
def test_every_array_is_documented_with_type_axes_and_meaning(name):
    kind = plugins.load("extractors", name)
    assert kind.arrays
    for array, text in kind.arrays.items():
        assert ARRAY.fullmatch(text), f"{array}: {text}"


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_is_a_frozen_value_whose_every_field_has_a_meaning(name):
    kind = plugins.load("extractors", name)
    assert kind.name == name
    assert kind.__dataclass_params__.frozen
    hints = get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        assert hints[field.name].__metadata__[0], field.name


@pytest.mark.parametrize("name", NAMES)
def test_what_runs_a_network_says_where_and_with_which_software(name):
    kind = plugins.load("extractors", name)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if isinstance(kind.software, tuple) and "torch" in kind.software:
        assert isinstance(fields["compute"].default, Compute)


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_reaches_another_process_as_it_is(name):
    kind = plugins.load("extractors", name)
    needed = [field for field in dataclasses.fields(kind) if field.default is field.default_factory]
    recipe = kind(**{field.name: LabMeans() for field in needed})
    again = pickle.loads(pickle.dumps(recipe))
    assert (again, hash(again), describe(again)) == (recipe, hash(recipe), describe(recipe))


def test_listing_extractors_imports_no_network_library():
    script = f"""
import sys
from lookaway.core import plugins
for name in plugins.names("extractors"):
    plugins.load("extractors", name)
print([name for name in {HEAVY!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"
