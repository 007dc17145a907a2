# make run    replay the samples that come with the program
# make test   vet, then all tests
# make race   all tests under the race detector
# make bench  benchmarks of the hot paths
# make lint   formatting and linters
# make fuzz   every fuzz target for FUZZTIME

FUZZTIME ?= 10s
BENCHTIME ?= 1s

.PHONY: all build run test race bench lint fuzz generate

all: build test lint

build:
	CGO_ENABLED=0 go build -trimpath -o bin/sim ./cmd/sim

run:
	go run ./cmd/sim run

test:
	go vet ./...
	go test ./...

race:
	go test -race ./...

bench:
	go test -run '^$$' -bench . -benchtime $(BENCHTIME) -benchmem ./...

lint:
	@test -z "$$(gofmt -l .)" || { echo "gofmt would change:"; gofmt -l .; exit 1; }
	go tool -modfile=tools/go.mod golangci-lint run ./...

fuzz:
	@go list ./... | while read pkg; do \
	  go test -list '^Fuzz' $$pkg | grep '^Fuzz' | while read target; do \
	    echo "$$pkg $$target"; \
	    go test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x $$pkg || exit 1; \
	  done || exit 1; \
	done

generate:
	go generate ./...
