from __future__ import annotations

import subprocess
import sys

import lookaway
from lookaway.engine.run import Run
from tests.support.runs import events, table_text
from tests.support.tiny import QUICK, write_mbench


def test_two_evaluations_of_one_run_at_once_give_the_table_of_one(tmp_path):
    root = write_mbench(tmp_path / "dataset", samples=4).root
    lookaway.evaluate(root, tmp_path / "alone", metrics=QUICK)
    command = [sys.executable, "-c", "from lookaway.cli import main; main()"]
    arguments = ["eval", str(root), "--metrics", ",".join(QUICK), "-o", str(tmp_path / "run"), "--quiet"]
    both = [subprocess.Popen([*command, *arguments], stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in both] == [("", 0), ("", 0)]
    assert table_text(tmp_path / "run") == table_text(tmp_path / "alone")
    assert len(list(Run(tmp_path / "run").units(QUICK[0]))) == len(list(Run(tmp_path / "alone").units(QUICK[0])))
    assert {event["event"] for event in events(tmp_path / "run")} == {"measured"}
