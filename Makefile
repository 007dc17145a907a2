# make run    replay the samples that come with the program
# make test   vet, then all tests; make tests leaves out vet, which make lint runs too
# make house  the worked examples of CONTRIBUTING.md, and the rooms that a run passes: each builds the program anew
# make race   the short tests of packages that work on several cores under the race detector, but for packages that only
#             compute something once
# make torture damaged input, failing writes, kills and hostile servers for TORTURE seconds each, seeds printed
# make mutants take the effect of parameters away one by one: which rows of docs/coverage.md do not notice?
# make gremlins bounds and arithmetic of one package changed one by one (PKG=./strategies GREMLINS=flags): which change does no test notice?
# make browser look at the pages of sim in a real browser (Chromium)
# make picture draw the page of the samples for the head of the README (Chromium)
# make golden hold what the program prints and writes against digests (SIM=binary, GOLDEN=flags)
# make experiment  predictions about another setting against bills of real clients under it; LIMITS=-tighten sets the limits anew
# make validation the tables of all agents and providers in docs/validation.md, from the recordings in ../shared
# make clients  run these clients anew, on loopback alone (Linux, root, npm, zstd): RUNS="pi-mend-A …", CLIENT="-client pi=1.7.0"
# make libraries run compaction libraries and hold presets against what they sent: docs/libraries.md (Python 3.12 with venv, npm,
#             a network); some: LIBRARIES="langchain strands", without running any: RUN=, newest versions: RUN="-run -latest"
# make bench  benchmarks of the hot paths
# make bench-compare  time and memory beside another revision and other programs, in turns: BASE=REV (BENCH=flags, such as -only rank)
# make lint   formatting and linters
# make fuzz   every fuzz target for FUZZTIME: a time, or a count of inputs (500x); GUIDED= leaves out what guides inputs by
#             coverage, for which all packages are compiled anew
# make cross  build for every platform, keep nothing
# make man    manual pages in bin/man: man -M bin/man sim-run
# make weight lines and files of Go that are neither tests nor tools, by room
# make dist   archives with static binaries for every platform, in dist/
# make flink  a job of sim-beam on a standalone Flink, a worker killed midway (Java, Maven, Python)

FUZZTIME ?= 10s
GUIDED ?= -fuzz=. -tags nosqlite
TORTURE ?= 400
BENCHTIME ?= 1s
PKG ?= ./sim/promptcache
BUILDFLAGS ?= -trimpath
PLATFORMS = linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64
# Packages whose tests are about files, locks and signals: they are built for each platform, too.
SYSTEM = ./internal/kit/files ./traces ./traces/store ./traces/recorder ./cmd/sim

.PHONY: all build run test tests quick house race torture golden experiment validation clients libraries bench bench-compare lint fuzz cross dist weight mutants gremlins flink browser picture man

all: build test lint

build:
	CGO_ENABLED=0 go build $(BUILDFLAGS) -o bin/sim ./cmd/sim

run:
	go run ./cmd/sim run

test:
	go vet ./...
	$(MAKE) tests

tests:
	go test -vet=off -timeout 15m ./...

quick:
	go test -vet=off -short $$(go list ./... | grep -v /cmd/sim)

house:
	HOUSE=1 go test -vet=off -count=1 -run 'WorkedExamples|WayOfARun' .

# What is long (testing.Short) takes ways through the code that shorter tests take too. The detector has nothing to see in the dearest
# tests that work on one core alone.
ALONE = ^Test(RecordedBreakpoints|RecordedCostsWhatLibrariesWereBilled)$$
race:
	go test -vet=off -tags nosqlite -race -short -skip '$(ALONE)' $$(go list -f '{{range .Imports}}{{if eq . "sync"}}{{$$.ImportPath}}{{end}}{{end}}' ./... | grep -v -E '/tools/|/(cmd/sim|costmodel|strategies|charts|jsonscan|profile|servers|synthetic)$$')
	go test -vet=off -tags nosqlite -race -run 'Progress|Interrupt|Goes' ./cmd/sim

# The tests that have a long form run one after the other; TORTURE_SEED repeats one.
torture:
	@mkdir -p bin
	TORTURE=$(TORTURE) go test -vet=off -timeout 60m -count=1 -v -parallel 2 \
	  -run 'Mutants|OtherForms|KilledRun|EveryWriteFails|RandomOperations|Bomb|MemoryIsBounded|Hostile' ./cmd/sim | tee bin/torture.log | \
	  grep -E '^ *(---|FAIL|ok|panic)|SEED|seed|killed|mutants|failing'
	@! grep -E '^(FAIL|panic)' bin/torture.log
	go test -vet=off -count=1 ./internal/kit/files ./sim/live

picture:
	go build -trimpath -buildvcs=false -o bin/sim ./cmd/sim
	bin/sim report -q --strategy own,own/lower,break-even,session-memory,truncate-oldest,none -o bin/page.html
	chromium --headless --no-sandbox --hide-scrollbars --window-size=1120,1240 --virtual-time-budget=4000 \
	  --screenshot=docs/page.png file://$(CURDIR)/bin/page.html

flink:
	.ci/flink/run

browser:
	go build $(BUILDFLAGS) -buildvcs=false -o bin/sim ./cmd/sim
	cd tools/browser && SIM=$(CURDIR)/bin/sim go test -vet=off -count=1 .

mutants:
	go run ./tools/mutants $(MUTANTS)

# One worker, so that a busy machine makes no mutant time out.
gremlins:
	go tool -modfile=tools/lint/go.mod gremlins unleash $(PKG) --workers 1 --timeout-coefficient 20 $(GREMLINS)

golden:
	.ci/golden/run $(GOLDEN)

experiment:
	go run ./tools/experiment -doc docs/validation.md $(LIMITS)

validation:
	SIM_UPDATE_DOCS=1 go test ./cmd/sim -count=1 -run TestRecordedAgents

clients:
	go run ./tools/experiment -record $(CLIENT) $(RUNS)

RUN ?= -run
libraries:
	go run ./tools/libraries $(RUN) -doc docs/libraries.md $(LIBRARIES)

bench-compare:
	go run ./tools/bench -base $(or $(BASE),$(error BASE=REV: the revision to compare with)) $(BENCH)

bench:
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) -benchmem ./...

lint:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go tool -modfile=tools/lint/go.mod golangci-lint run ./...
	cd cmd/sim-beam && go tool -modfile=../../tools/lint/go.mod golangci-lint run ./...

fuzz:
	@mkdir -p bin; cache=$$(go env GOCACHE)/fuzz; \
	grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n 1 dirname | sort -u | while read -r dir; do \
	  go test -c -vet=off -ldflags='-s -w' $(GUIDED) -o bin/fuzz.test $$dir || exit 1; \
	  for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$dir/*_test.go | cut -d ' ' -f 2); do \
	    echo "$$dir $$target"; \
	    (cd $$dir && $(CURDIR)/bin/fuzz.test -test.run '^$$' -test.fuzz "^$$target$$" -test.fuzztime $(FUZZTIME) \
	      -test.fuzzminimizetime 10x -test.fuzzcachedir $$cache/$$dir) || exit 1; \
	  done || exit 1; \
	done

cross:
	@for p in $(PLATFORMS); do \
	  echo "$$p"; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go build $(BUILDFLAGS) -o /dev/null ./cmd/sim || exit 1; \
	  CGO_ENABLED=0 GOOS=$${p%/*} GOARCH=$${p#*/} go vet $(BUILDFLAGS) $(SYSTEM) || exit 1; \
	done

man:
	MAN=$(CURDIR)/bin/man/man1 go test -vet=off -count=1 -run '^TestManPages$$' ./cmd/sim

dist:
	go run ./tools/dist dist

weight:
	@git ls-files '*.go' | grep -v -E '_test\.go$$|^tools/|^cmd/sim-beam/' | xargs wc -l | awk '$$2 ~ /\.go$$/ { room = $$2; \
	  if (!sub("/[^/]*$$", "", room)) room = "."; lines[room] += $$1; files[room]++; all += $$1; n++ } \
	  END { for (room in lines) printf "%7d %6d  %s\n", lines[room], files[room], room; printf "%7d %6d  total\n", all, n }' | sort -rn
