# Highwater's habits. The two that matter: make run, make test.

GO          ?= go
BIN         := bin
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
TOOLS       := cmd/bench cmd/probe
SECONDS_FUZZ ?= 20
SEEDS        ?= 50
ROUNDS       ?= 6
CPUS         ?= 2
ARGS         ?=

.PHONY: help run build test race bench compare soak fuzz fmt generate lint cross policy licences clean

help: ## what each target does
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

build: ## build bin/highwater
	@mkdir -p $(BIN)
	$(GO) build -o $(BIN)/ ./cmd/highwater

run: build ## serve a cluster and its page; ARGS="--open" opens a browser
	$(BIN)/highwater serve $(ARGS)

# A browser test that does not run proves nothing, so the browser is fetched rather than skipped:
# cmd/browser.sh installs one where it may, and says the one command to give where it may not.
test: ## all tests, those in a real browser included
	CHROMIUM="$$(cmd/browser.sh)" && export CHROMIUM && $(GO) test -timeout 20m ./...
	@for tool in $(TOOLS); do (cd $$tool && $(GO) test ./...) || exit 1; done

race: ## the engine's and the window's tests under the race detector
	$(GO) test -race -short -timeout 30m -p $(CPUS) ./cluster/... ./viz/... ./server/... \
		./scenarios/... ./cmd/...

bench: build ## paired rounds against kfake with files; ROUNDS=6, SCENARIOS=consume,raw-produce-64k
	cd cmd/bench && $(GO) build -o ../../$(BIN)/ ./load ./kfaked ./paired
	$(BIN)/paired -rounds $(ROUNDS) $(if $(SCENARIOS),-scenarios $(SCENARIOS)) $(ARGS)

compare: build ## real Kafka's tools, kcat and the probe against us; SHORT=1 leaves the long parts out
	cd cmd/probe && $(GO) build -o ../../$(BIN)/probe .
	$(GO) build -o $(BIN)/ ./cmd/compare
	$(BIN)/compare $(if $(SHORT),-short) $(ARGS)

soak: build ## every scenario, and misfortune by dice, with SEEDS seeds: every promise holds
	$(GO) build -o $(BIN)/ ./cmd/compare
	$(BIN)/compare -soak $(SEEDS)
	HIGHWATER_SEEDS=$(SEEDS) $(GO) test -count=1 -timeout 2h -run Misfortune ./scenarios

fuzz: ## every fuzz test for SECONDS_FUZZ seconds
	@set -e; for package in $$($(GO) list ./...); do \
		for name in $$($(GO) test -list '^Fuzz' $$package | grep '^Fuzz' || true); do \
			echo "$$package $$name"; \
			$(GO) test -run '^$$' -fuzz "^$$name$$" -fuzztime $(SECONDS_FUZZ)s $$package; \
		done; \
	done

fmt: ## format everything
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')
	$(GO) tool templ fmt web

generate: ## write what follows from other files: event kinds, layouts, templates, references
	$(GO) generate ./...

lint: ## gofmt, go vet and staticcheck, on the tools' own modules too
	@unformatted=$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go')); \
	if [ -n "$$unformatted" ]; then echo "make fmt would change:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) run $(STATICCHECK) ./...
	@for tool in $(TOOLS); do \
		(cd $$tool && $(GO) vet ./... && $(GO) run $(STATICCHECK) ./...) || exit 1; done

cross: ## build for macOS and Windows
	GOOS=darwin GOARCH=arm64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) build ./...
	GOOS=windows GOARCH=amd64 $(GO) vet ./cluster/disk ./cluster/wire ./cmd/highwater

policy: ## imports, sizes, folders, generated files: the rules no package can check about itself
	$(GO) test -count=1 .

licences: ## every dependency's licence
	$(GO) test -count=1 -run TestDependenciesHaveLicencesThatBindNobody -v .

clean: ## remove what was built
	rm -rf $(BIN)
