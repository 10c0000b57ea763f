# Everything here works on a fresh Debian 12 with Swift 6.3 on the PATH.
SHELL := /bin/bash
.DEFAULT_GOAL := build

FILM ?= out/first-film.mp4
RELEASE := .build/release
# Line numbers of a crash take a tenth of the build's time; names of functions it has without them.
RELEASE_BUILD := swift build -c release -debug-info-format none
SWIFT_FILES := $(shell git ls-files '*.swift' 2>/dev/null | grep -v '/Generated/')
C_FILES := $(shell git ls-files '*.c' '*.h' 2>/dev/null)

.PHONY: setup build release release-local demo reference docs gallery test thorough page-test deploy-check quick lint format bench chaos exactness clean

setup: ## install the system packages that are missing
	@scripts/install-packages build test

build: setup
	swift build

release: release-local ## the three programs
	$(RELEASE_BUILD) --product sheaf-server

# What one machine needs to render. The coordinator of a farm builds an HTTP server too, which takes minutes.
release-local:
	@scripts/install-packages build
	$(RELEASE_BUILD) --target OneMachine
	$(RELEASE_BUILD) --product sheaf
	$(RELEASE_BUILD) --product sheaf-worker

# The first build has to be soon; `make release` optimises everything.
demo: export SHEAF_QUICK_BUILD = 1
demo: release-local ## render Examples/first-film.json and print the path of the film
	@mkdir -p $(dir $(FILM))
	$(RELEASE)/sheaf render Examples/first-film.json -o $(FILM)
	@echo "The film: $(abspath $(FILM))"

reference: ## write docs/document.schema.json and the tables of docs/document/ from the declarations of keys
	SHEAF_TEST_ROOMS=EditDocument swift build --product sheafPackageTests
	SHEAF_RECORD_REFERENCE=1 swift test --skip-build --disable-xctest --filter '^EditDocumentTests\.SchemaTests'

docs: ## the documentation of the Swift library, in .build/documentation
	@scripts/install-packages build
	swift build --target Sheaf
	scripts/docs

gallery: release-local ## render the pictures of docs/gallery.md again
	@scripts/install-packages test
	scripts/gallery

test: setup ## every test, with each kind of thing once, and a throwaway PostgreSQL; T=Segmenter: those of one room
	@scripts/http-tools # what tests of the HTTP API, of the page and of the schema need, from PyPI
	swift build --product sheaf
	swift build --product sheaf-worker
	swift build --product sheaf-server
	# Not --build-tests, which would also compile every tool of every dependency.
	SHEAF_TEST_ROOMS=$(T) swift build --product sheafPackageTests
	scripts/test $(T)

thorough: ## make test with every case at its whole length, as CI does; T=Segmenter: those of one room
	SHEAF_THOROUGH=1 $(MAKE) test

page-test: setup ## the page in Chromium, on a farm of its own
	@scripts/http-tools
	swift build --product sheaf-worker
	swift build --product sheaf-server
	pg_virtualenv -t -o fsync=off .build/http-tools/bin/python Tests/PageTests/run

deploy-check: setup ## the manifests of Kubernetes and the units of systemd
	@scripts/http-tools
	.build/http-tools/bin/python deploy/check

# The rooms whose tests compute in one process.
QUICK := CompositionModel,EditDocument,Segmenter,Jobs,Runtime,Wire,ContentStorage,SystemSupport

quick: ## the tests of what is pure, without ffmpeg, PostgreSQL and other programs
	SHEAF_TEST_ROOMS=$(QUICK) swift build --product sheafPackageTests
	scripts/test quick

lint: # swift format does not look at the length of comments
	@swift format lint --strict $(SWIFT_FILES)
	@! LC_ALL=C.UTF-8 grep -nP '^(?=.{121}) *//' $(SWIFT_FILES) $(C_FILES)

format:
	@swift format --in-place $(SWIFT_FILES)

bench: release ## Sheaf, ffmpeg and melt in turn, as ratios; films of a bit rate, and of a target quality; stills; smart rendering; transitions alone; then a coordinator under load, with a large film, and with many watchers; then how well ends are foreseen
	@scripts/install-packages test bench
	Benchmarks/run
	Benchmarks/overlay
	Benchmarks/bitrate
	Benchmarks/quality
	Benchmarks/stills
	Benchmarks/smart
	Benchmarks/sound
	$(RELEASE_BUILD) --product FrameLoad
	Benchmarks/transitions
	$(RELEASE_BUILD) --product FarmLoad
	pg_virtualenv -t -o max_connections=200 Benchmarks/load
	pg_virtualenv -t Benchmarks/plan
	pg_virtualenv -t Benchmarks/watchers
	pg_virtualenv -t Benchmarks/eta --renders 30
	pg_virtualenv -t -o max_connections=200 Benchmarks/security
	pg_virtualenv -t Benchmarks/scaling

chaos: release ## the example film on farms on which something fails, as a table, then inputs and traces of the job stores that are made at random; SEED=n TRIES=n MUTANTS=n TRACES=n
	@scripts/install-packages test
	swift build -c release --product TestWorker
	pg_virtualenv -t -o max_connections=200 -o fsync=off Tests/Chaos/run --seed $(or $(SEED),1) --tries $(or $(TRIES),1)
	SHEAF_TEST_ROOMS=Coordinator,Jobs swift build --product sheafPackageTests
	SHEAF_MUTANTS=$(or $(MUTANTS),100000) SHEAF_SEED=$(or $(SEED),1) \
	  .build/debug/sheafPackageTests.xctest --testing-library swift-testing --filter '^CoordinatorTests\.MutantTests'
	SHEAF_TRACE_SEEDS=$(or $(TRACES),30) pg_virtualenv -t -o fsync=off .build/debug/sheafPackageTests.xctest \
	  --testing-library swift-testing --filter '^JobsTests\.(TraceTests|FairQueueTests|PoolTests)'

exactness: release-local ## every frame and sample of films cut from 600 kinds of files, films of every codec, container and cadence, documents that are changed at random, more requests to the HTTP API, then the time of probing, as tables; SEED=n MUTANTS=n EXAMPLES=n
	@scripts/install-packages test
	swift build --product sheafPackageTests
	SHEAF_EXACTNESS=$(or $(SEED),1) swift test --skip-build --disable-xctest \
	  --filter '^(ExactnessTests\.WholeAttack|FarmTests\.RealMediaTests|MediaTests\.(Probe|VideoReading|AudioReading|UnneededPicture)Tests|RendererTests\.SoundEffectTests)'
	scripts/http-tools
	SHEAF_TESTED_DOCUMENTS=.build/tested-documents swift test --skip-build --disable-xctest \
	  --filter '^EditDocumentTests\.'
	SHEAF_KEPT_DOCUMENTS=.build/tested-documents SHEAF_MUTANTS=$(or $(MUTANTS),10000) SHEAF_SEED=$(or $(SEED),1) \
	  swift test --skip-build --disable-xctest --filter '^EditDocumentTests\.SchemaTests'
	SHEAF_API_EXAMPLES=$(or $(EXAMPLES),15) pg_virtualenv -t -o fsync=off .build/debug/sheafPackageTests.xctest \
	  --testing-library swift-testing --filter '^FarmTests\.HTTPFarmTests'
	SHEAF_WHOLE_GUIDES=1 pg_virtualenv -t -o fsync=off .build/debug/sheafPackageTests.xctest \
	  --testing-library swift-testing --filter '^FarmTests\.GuideTests'
	Tests/Cells/run
	Benchmarks/probe

clean:
	rm -rf .build out
