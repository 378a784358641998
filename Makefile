# make help lists the targets.
GO    ?= go
TOOL  := $(GO) tool -modfile=tools.mod
FUZZ  ?= 1s
SOAK  ?= 10m

# where make install puts things; DESTDIR comes before all of it.
PREFIX ?= /usr/local

# What make soak does beside fuzzing: seeds of chaos, their virtual hours, how
# often heddle sm is killed, and as many peers of verbs/shm, and the minutes that
# each hostile client has, and how long channels of all kinds run between processes,
# and as long on simulated networks.
SEEDS   ?= 100
HOURS   ?= 10
KILLS   ?= 1000
HOSTILE ?= 20
CHANNELS ?= 10m

# program:package for each peer that the tests run, what their virtual machine
# is made of, and a C compiler, which the race detector needs.
PEERS := ibsim:ibsim-utils opensm:opensm ibnetdiscover:infiniband-diags \
	qemu-system-x86_64:qemu-system-x86 busybox:busybox-static depmod:kmod \
	rdma:iproute2 ibv_devinfo:ibverbs-utils ibv_devinfo:ibverbs-providers systemd-analyze:systemd tshark:tshark python3:python3 cc:gcc cc:libc6-dev

.PHONY: help build demo test peers lint bench soak arm64 install clean
.PHONY: test-static test-go test-fuzz test-bench test-cross

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9]+:.*## / { printf "%-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## bin/heddle
	$(GO) build -o bin/heddle ./cmd/heddle

demo: build ## what heddle does: trees compared, and a whole subnet with broadcasts down them
	bin/heddle demo
	bin/heddle up --html out/up.html

test: peers test-static test-go test-fuzz test-bench test-cross ## everything that CI tests

test-static:
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) -C examples/grpc mod tidy -diff
	$(GO) -C examples/grpc vet ./...

test-go:
	$(GO) test -race -shuffle=on -timeout 20m ./...
	$(GO) -C examples/grpc test -race -shuffle=on ./...

test-fuzz:
	scripts/fuzz $(FUZZ)

test-bench:
	$(GO) test -short -run '^$$' -bench . -benchtime 1x -timeout 10m ./...

test-cross:
	CGO_ENABLED=0 GOOS=darwin $(GO) build ./...
	CGO_ENABLED=0 GOOS=windows $(GO) build ./...
	CGO_ENABLED=0 GOARCH=arm64 $(GO) vet ./verbs/...

peers: ## install the programs that the tests compare with, where missing
	@scripts/peers $(PEERS)
	@scripts/kernel

lint: ## formatting, linters, outdated idioms
	@files=$$($(TOOL) gofumpt -l .) && if [ -n "$$files" ]; then echo "gofumpt would change:"; echo "$$files"; exit 1; fi
	$(TOOL) golangci-lint run
	$(GO) fix -diff ./...

bench: build peers ## the tables of docs/benchmarks: routing engines, the emulated subnet against ibsim, the subnet manager against OpenSM, shared memory and channels against UCX
	bin/heddle bench routing
	bin/heddle bench emu --peer ibsim
	bin/heddle bench sm --peer opensm
	bin/heddle bench verbs --peer ucx
	bin/heddle bench channel --peer ucx
	bin/heddle bench wire --peer tcp
	bin/heddle bench broadcast

soak: ## chaos for SEEDS times HOURS (100 x 10), KILLS of heddle sm and of verbs/shm's peers (1000), hostile clients, CHANNELS (10m) of all kinds of channels, verbs on arm64, each fuzz target for SOAK (10m)
	scripts/soak $(SEEDS) $(HOURS) $(KILLS) $(HOSTILE) $(CHANNELS) $(SOAK)

arm64: ## the tests of verbs on arm64, under qemu-user
	@scripts/arm64

install: build ## the program below PREFIX (/usr/local), and what a service of systemd needs
	install -D -m 755 bin/heddle $(DESTDIR)$(PREFIX)/bin/heddle
	install -D -m 644 packaging/systemd/heddle-sm.service $(DESTDIR)$(PREFIX)/lib/systemd/system/heddle-sm.service
	sed -i 's#/usr/bin/heddle#$(PREFIX)/bin/heddle#' $(DESTDIR)$(PREFIX)/lib/systemd/system/heddle-sm.service
	install -D -m 644 packaging/sysusers.d/heddle.conf $(DESTDIR)$(PREFIX)/lib/sysusers.d/heddle.conf
	install -D -m 644 packaging/udev/70-heddle-sm.rules $(DESTDIR)$(PREFIX)/lib/udev/rules.d/70-heddle-sm.rules
	install -D -m 644 packaging/logrotate.d/heddle-sm $(DESTDIR)/etc/logrotate.d/heddle-sm

clean: ## remove what make built
	rm -rf bin out
