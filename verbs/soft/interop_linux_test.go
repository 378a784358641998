//go:build amd64

package soft_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/packet"
	"heddle/verbs"
	"heddle/verbs/ibv"
	"heddle/verbs/soft"
)

// interopVariable is set where TestInterop is in its virtual machine: one end of a
// pair of interfaces, near, has the kernel's software device rxe1; the other end,
// far, is in a network namespace of that name, as rxe has UDP port 4791 of the first
// one for itself.
const interopVariable = "HEDDLE_SOFT_INTEROP"

const interopSetup = `
ip netns add far
ip link add near mtu 4400 type veth peer name far mtu 4400 netns far
ip -n far link set far gso_max_segs 1
ip address add 10.9.7.1/24 dev near
ip address add fd00:7::1/64 dev near nodad
ip link set near up
ip -n far address add 10.9.7.2/24 dev far
ip -n far address add fd00:7::2/64 dev far nodad
ip -n far link set lo up
ip -n far link set far up
rdma link add rxe1 type rxe netdev near
dmesg -n 1`

// The addresses of both ends, of each family.
var (
	rxeAddresses  = []netip.Addr{netip.MustParseAddr("10.9.7.1"), netip.MustParseAddr("fd00:7::1")}
	softAddresses = []netip.Addr{netip.MustParseAddr("10.9.7.2"), netip.MustParseAddr("fd00:7::2")}
)

var interopTests = []struct {
	name string
	run  func(t *testing.T)
}{
	{"RC", interopRC},
	{"UC", interopUC},
	{"datagrams", interopDatagrams},
	{"streams", interopStreams},
	{"not ready", interopNotReady},
	{"refusals", interopRefusals},
	{"multicast", interopMulticast},
	{"pingpong", interopPingPong},
}

// TestInterop has this package's device and the Linux kernel's rxe as peers, in a
// virtual machine. All their packets are captured: packet agrees with all ICRCs, and
// tshark finds nothing malformed.
func TestInterop(t *testing.T) {
	if os.Getenv(interopVariable) == "" {
		interopVM(t)
		return
	}
	c := newCapture(t)
	for _, test := range interopTests {
		t.Run(test.name, test.run)
	}
	c.end(t)
}

const captureMark = "capture: "

// interopVM runs the test in a virtual machine, and has tshark read what it
// captured there.
func interopVM(t *testing.T) {
	output := testenv.OnRXE(t, testenv.VM{
		Modules: []string{"veth"}, Programs: []string{"ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"}, Script: interopSetup,
	}, interopVariable, "^TestInterop$")
	output, captured, _ := strings.Cut(output, captureMark)
	captured, rest, _ := strings.Cut(captured, "\n")
	t.Log(output + rest)
	for _, test := range interopTests {
		if !strings.Contains(output+rest, "--- PASS: TestInterop/"+strings.ReplaceAll(test.name, " ", "_")+" (") {
			t.Errorf("%s did not pass in the virtual machine", test.name)
		}
	}
	if !strings.Contains(output+rest, "--- PASS: TestInterop (") {
		t.Error("the test did not pass in the virtual machine")
	}
	dissect(t, captured)
}

// dissect has tshark read a capture, gzip in base64.
func dissect(t *testing.T, captured string) {
	t.Helper()
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(captured)))
	if err != nil {
		t.Fatalf("the capture: %v", err)
	}
	file, err := io.ReadAll(z)
	if err != nil {
		t.Fatalf("the capture: %v", err)
	}
	path := filepath.Join(t.TempDir(), "interop.pcap")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"-r", path, "-T", "fields", "-e", "infiniband.bth.opcode", "-e", "infiniband.invariant.crc", "-e", "_ws.malformed"}
	// The payloads are of nobody's protocol; tshark would guess.
	for _, guess := range []string{
		"eth_over_ib", "fc_infiniband", "iser_infiniband", "lnet_ib", "mellanox_eoib", "rpcrdma_infiniband", "sdp_infiniband",
		"smb_direct_infiniband", "smcr_infiniband",
	} {
		args = append(args, "--disable-heuristic", guess)
	}
	out, err := exec.CommandContext(t.Context(), testenv.Peer(t, "tshark"), args...).Output()
	if err != nil {
		t.Fatalf("tshark: %v", err)
	}
	lines := strings.Split(strings.TrimRight(string(out), "\n"), "\n")
	opcodes := make(map[string]int)
	for i, line := range lines {
		f := strings.Split(line, "\t")
		if len(f) != 3 || f[0] == "" || f[1] == "" || f[2] != "" {
			t.Errorf("tshark reads packet %d as %q", i+1, line)
			continue
		}
		opcodes[f[0]]++
	}
	t.Logf("tshark dissected %d packets of %d opcodes", len(lines), len(opcodes))
	if len(opcodes) < 20 {
		t.Errorf("only %d opcodes: %v", len(opcodes), opcodes)
	}
}

// atFar calls a function in the network namespace far.
func atFar(t testing.TB, f func()) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	here := get[*os.File](t)(os.Open("/proc/thread-self/ns/net"))
	defer here.Close()
	there := get[*os.File](t)(os.Open("/run/netns/far"))
	defer there.Close()
	must(t, unix.Setns(int(there.Fd()), unix.CLONE_NEWNET))
	defer func() {
		if err := unix.Setns(int(here.Fd()), unix.CLONE_NEWNET); err != nil {
			panic(err) // the thread is of no use to anybody
		}
	}()
	f()
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// node is one end: a device, with one of each.
type node struct {
	t    *testing.T
	name string
	addr netip.Addr
	dev  *soft.Device // of this package; nil of rxe
	ctx  verbs.Context
	pd   verbs.PD
	cq   verbs.CQ
	mr   verbs.MR
	mem  []byte
}

const nodeMemory = 1 << 20

// softNode is this package's device, rxeNode the kernel's, with addresses of one
// family.
func softNode(t *testing.T, family int) *node {
	n := &node{t: t, name: "soft", addr: softAddresses[family], dev: soft.OnAddress(softAddresses[family])}
	atFar(t, func() { n.ctx = open(t, n.dev) })
	n.fill()
	if e, err := verbs.ParseEndpoint(n.qp(verbs.QPAttr{Type: verbs.RC}).Endpoint()); err != nil || e.Port != packet.RoCEPort {
		t.Fatalf("%+v, %v: the device is not at port 4791", e, err)
	}
	return n
}

func rxeNode(t *testing.T, family int) *node {
	n := &node{t: t, name: "rxe", addr: rxeAddresses[family]}
	for _, d := range get[[]verbs.Device](t)((&ibv.Provider{}).Devices()) {
		if d.Name() == "rxe1" {
			n.ctx = open(t, d)
		}
	}
	if n.ctx == nil {
		t.Fatal("there is no rxe1")
	}
	n.fill()
	return n
}

func (n *node) fill() {
	t := n.t
	t.Helper()
	n.pd = get[verbs.PD](t)(n.ctx.AllocPD())
	n.cq = get[verbs.CQ](t)(n.ctx.CreateCQ(verbs.CQAttr{Depth: 1024}))
	mem := get[*verbs.Memory](t)(verbs.NewMemory(nodeMemory))
	n.mem = mem.Bytes()
	n.mr = get[verbs.MR](t)(n.pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteRead|verbs.RemoteWrite|verbs.RemoteAtomic))
	n.later(n.ctx.Close, n.pd.Close, n.cq.Close, mem.Close, n.mr.Close)
}

func (n *node) later(closers ...func() error) {
	for _, c := range closers {
		n.t.Cleanup(func() {
			if err := c(); err != nil {
				n.t.Error(err)
			}
		})
	}
}

// gid is the GID of the node's address.
func (n *node) gid() ib.GID { return n.addr.As16() }

func (n *node) qp(a verbs.QPAttr) verbs.QP {
	n.t.Helper()
	a.SendCQ, a.RecvCQ, a.GID, a.GIDType = n.cq, n.cq, n.gid(), verbs.GIDRoCEv2
	q := get[verbs.QP](n.t)(n.pd.CreateQP(a))
	n.later(q.Close)
	return q
}

// nodes are both ends, of a family of addresses.
func nodes(t *testing.T, family int) (ours, theirs *node) {
	return softNode(t, family), rxeNode(t, family)
}

// bothWays calls a test for both families, and with either end as the requester.
func bothWays(t *testing.T, f func(t *testing.T, from, to *node)) {
	for family, name := range []string{"IPv4", "IPv6"} {
		t.Run(name+" from soft", func(t *testing.T) {
			ours, theirs := nodes(t, family)
			f(t, ours, theirs)
		})
		t.Run(name+" from rxe", func(t *testing.T) {
			ours, theirs := nodes(t, family)
			f(t, theirs, ours)
		})
	}
}

// accepted calls a test, after which rxe has received each packet that was sent: it
// counts those whose ICRC is right.
func accepted(t *testing.T, ours *node, f func()) {
	t.Helper()
	before, sent := counter(t, "rcvd_pkts"), ours.dev.Stats().Sent
	f()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 100 {
		if counter(t, "rcvd_pkts")-before == ours.dev.Stats().Sent-sent {
			return
		}
		<-tick.C
	}
	t.Errorf("of %d packets rxe received %d", ours.dev.Stats().Sent-sent, counter(t, "rcvd_pkts")-before)
}

// ofSoft is the end of two that is this package's.
func ofSoft(a, b *node) *node {
	if a.dev != nil {
		return a
	}
	return b
}

// connect makes a QP at both ends, which wait long for a slow machine.
func connect(t *testing.T, a, b *node, attr verbs.QPAttr) (near, far verbs.QP) {
	t.Helper()
	attr.Timeout = time.Second
	near, far = a.qp(attr), b.qp(attr)
	must(t, near.Connect(t.Context(), far.Endpoint()))
	must(t, far.Connect(t.Context(), near.Endpoint()))
	return near, far
}

// interopPatience is how long a test waits for what has to come.
const interopPatience = 30 * time.Second

// completions waits for some.
func (n *node) completions(count int) []verbs.WC {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), interopPatience)
	defer cancel()
	list := make([]verbs.WC, 0, count)
	for len(list) < count {
		got, err := verbs.Await(ctx, n.cq, list[len(list):count])
		if err != nil {
			n.t.Fatalf("%s: after %d of %d completions: %v", n.name, len(list), count, err)
		}
		list = list[:len(list)+got]
	}
	return list
}

// succeed waits for one, which has to be good.
func (n *node) succeed() verbs.WC {
	n.t.Helper()
	wc := n.completions(1)[0]
	if err := wc.Err(); err != nil {
		n.t.Fatalf("%s: %v", n.name, err)
	}
	return wc
}

// silent is that there is no completion for a moment.
func (n *node) silent(moment time.Duration) {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), moment)
	defer cancel()
	var wcs [1]verbs.WC
	if got, err := verbs.Await(ctx, n.cq, wcs[:]); !errors.Is(err, context.DeadlineExceeded) {
		n.t.Fatalf("%s: %d completions, %+v, %v", n.name, got, wcs, err)
	}
}

func (n *node) recv(q verbs.QP, offset, size int) {
	n.t.Helper()
	must(n.t, q.PostRecv(&verbs.RecvWR{ID: uint64(offset), SGEs: []verbs.SGE{n.mr.SGE(offset, size)}}))
}

// kernelSaid is what the kernel printed of packets that rxe refused.
func kernelSaid(t *testing.T) (lines []string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "dmesg").Output()
	must(t, err)
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "rxe") && strings.Contains(line, "ICRC") || strings.Contains(line, "RIP:") {
			lines = append(lines, line)
		}
	}
	return lines
}

// counter is one of rxe's.
func counter(t *testing.T, name string) uint64 {
	t.Helper()
	b, err := os.ReadFile("/sys/class/infiniband/rxe1/ports/1/hw_counters/" + name)
	must(t, err)
	var v uint64
	if _, err := fmt.Fscan(bytes.NewReader(b), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}
