"""The shell scripts of a work folder: one for each case, which makes its output once, and one for all of them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from lookaway.generation.adapter import ControlPlan, Shell, command_line
from lookaway.generation.work_plan import RUN_RECORD, PlanItem

RUN: Final = """#!/bin/sh
# Run in the folder of the model's code. Results go to $OUTPUTS; what is finished is not run again, and what is not
# finished begins with an empty folder.
set -eu
CASE="$(cd "$(dirname "$0")" && pwd)"
OUT="${{OUTPUTS:-$CASE/../../outputs}}/{folder}"
RECORD="$OUT/{record}"
text() {{ printf '%s' "$1" | sed 's/[\\\\"]/\\\\&/g'; }}
{asked}VARIABLES="{variables}"
if [ -f "$RECORD" ] && grep -q {sha256} "$RECORD" && ls "$OUT"/{output} > /dev/null 2>&1; then
  if ! grep -q '"variables"' "$RECORD" || grep -qF "\\"variables\\": {{$VARIABLES}}" "$RECORD"; then exit 0; fi
  MADE="$(sed -n 's/.*"variables": {{\\([^}}]*\\)}}.*/\\1/p' "$RECORD")"
  echo "$OUT was made with $MADE, and this run is with $VARIABLES; set OUTPUTS to another folder." >&2
  exit {other_model}
fi
{needed}rm -rf "$OUT"
mkdir -p "$OUT"
STARTED="$(date +%s)"
{draft}{command}
printf '{{"plan_sha256": "{sha256}", "seed": {seed}, "started": %s, "finished": %s, "variables": {{%s}}}}\\n' \\
  "$STARTED" "$(date +%s)" "$VARIABLES" > "$RECORD.part"
mv "$RECORD.part" "$RECORD"
"""
DRAFT: Final = "some flags are a draft; compare them with the model's own script before the first run."
FIRST_FRAME: Final = "first_frame.png"
NEEDED: Final = f"""[ -f "$CASE/{FIRST_FRAME}" ] || {{
  echo "the dataset has no first frame of this case; put one at $CASE/{FIRST_FRAME}" >&2
  exit 1
}}
"""
OTHER_MODEL: Final = 3
"""Exit code where the output is there, but of other weights or another actor."""
RUN_ALL: Final = f"""#!/bin/sh
# Runs every case; a case that fails is told at the end, and the same command resumes.
WORK="$(cd "$(dirname "$0")" && pwd)"
FAILED=0
for RUN in "$WORK"/cases/*/run.sh; do
  CODE=0
  sh "$RUN" || CODE=$?
  if [ "$CODE" -eq {OTHER_MODEL} ]; then exit "$CODE"; fi
  if [ "$CODE" -ne 0 ]; then echo "failed: $RUN" >&2; FAILED=1; fi
done
exit "$FAILED"
"""
VARIABLE: Final = re.compile(r"\$\{([A-Z_]+)[^}]*\}")
NOT_RECORDED: Final = frozenset({"CASE", "OUT", "GPUS"})
"""Places and speed. All other variables, such as ACTOR and WEIGHTS, choose what is generated."""


def case_script(plan: ControlPlan, item: PlanItem, *, is_draft: bool) -> str:
    """The script that makes the output of an item."""
    command = command_line(plan.command)
    variables = _variables(plan.command)
    return RUN.format(
        folder=item.folder,
        record=RUN_RECORD,
        sha256=item.sha256,
        output="*".join(shlex.quote(part) if part else "" for part in plan.output.split("*")),
        draft=f"# {DRAFT}\n" if is_draft else "",
        needed=NEEDED if FIRST_FRAME in command and FIRST_FRAME not in item.files else "",
        command=command,
        seed=item.seed,
        asked="".join(f': "{word}"\n' for word in variables.values()),
        variables=", ".join(f'\\"{name}\\": \\"$(text "{word}")\\"' for name, word in variables.items()),
        other_model=OTHER_MODEL,
    )


def _variables(command: Sequence[str]) -> dict[str, str]:
    """The user's variables of a command, by name, as the shell reads them."""
    words = " ".join(word for word in command if isinstance(word, Shell))
    return {match[1]: match[0] for match in VARIABLE.finditer(words) if match[1] not in NOT_RECORDED}
