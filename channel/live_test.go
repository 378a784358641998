package channel

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"heddle/internal/testenv"
	"heddle/verbs"
	"heddle/verbs/ibv"
	"heddle/verbs/shm"
)

// The tests of this file, and those of links, connections and calls, run on a
// real device, in real time: shared memory, or that of the kernel which
// deviceVariable names.

// deviceVariable names a device of the kernel, such as rxe0; its port must be
// active, and loop packets back.
const deviceVariable = "HEDDLE_IBV"

// asserted is what is known of rxe, and asked of it in vain: its CPU copies packets
// to memory and from it, one after the other, by a memcpy that on the virtual
// machine's processor goes from the first byte to the last.
var asserted = []verbs.Assumption{verbs.AssumeWriteOrder, verbs.AssumeFetchOrder, verbs.AssumePlacementOrder}

// patience is how long a test of a real device waits for what has to come.
const patience = 20 * time.Second

// liveTests are those that TestKernel runs on a device of the kernel.
var liveTests = []string{
	"TestLiveDelivery", "TestLiveRefusals", "TestLivePressure", "TestLivePeerGone",
	"TestConn", "TestPlainConn", "TestDrain", "TestFinishAtOnce", "TestLinkBreaks", "TestAttachMisfits", "TestAttachToDead", "TestPeerMemory", "TestStats",
	"TestCalls", "TestCallIsLeft", "TestProcesses",
}

// TestKernel runs the tests of real devices over libibverbs, in a virtual machine
// with a RoCE device of software.
func TestKernel(t *testing.T) {
	tests := slices.Concat(liveTests, addressTests)
	output := testenv.OnRXE(t, testenv.VM{Memory: 1024, Modules: []string{"rdma_ucm"}}, deviceVariable, "^("+strings.Join(tests, "|")+")$")
	t.Log(output)
	for _, name := range tests {
		if !strings.Contains(output, "--- PASS: "+name+" (") {
			t.Errorf("%s did not pass in the virtual machine", name)
		}
	}
}

func onKernel() bool { return os.Getenv(deviceVariable) != "" }

// openLive opens the device.
func openLive() (verbs.Context, error) {
	devices, err := shm.Provider{}.Devices()
	name := os.Getenv(deviceVariable)
	if name != "" {
		devices, err = (&ibv.Provider{}).Devices()
	}
	if err != nil {
		return nil, err
	}
	for _, d := range devices {
		if name == "" || d.Name() == name {
			return d.Open()
		}
	}
	return nil, fmt.Errorf("no device %q", name)
}

// assumptionsFor are what has to be asserted of a device for a kind.
func assumptionsFor(kind *Kind, dev verbs.Context) []verbs.Assumption {
	caps := dev.Caps()
	if r := kind.Missing(&caps); onKernel() && r != nil && r.Order != 0 {
		return asserted
	}
	return nil
}

func liveDevice(t testing.TB) verbs.Context {
	t.Helper()
	dev, err := openLive()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dev.Close(); err != nil {
			t.Errorf("close the device: %v", err)
		}
	})
	return dev
}

func transportOn(t testing.TB, dev verbs.Context, assume ...verbs.Assumption) *Transport {
	t.Helper()
	tr, err := NewTransport(dev, assume...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Errorf("close the transport: %v", err)
		}
	})
	return tr
}

// liveFor is a transport for a kind, of which no more is asserted than it needs.
func liveFor(t testing.TB, kind *Kind) *Transport {
	t.Helper()
	dev := liveDevice(t)
	return transportOn(t, dev, assumptionsFor(kind, dev)...)
}

// liveTransport is a transport for any kind.
func liveTransport(t testing.TB) *Transport {
	t.Helper()
	if onKernel() {
		return transportOn(t, liveDevice(t), asserted...)
	}
	return transportOn(t, liveDevice(t))
}

// TestLiveRefusals: without an assertion a kind is refused that relies on an order
// which the device does not promise, and all others can be made.
func TestLiveRefusals(t *testing.T) {
	tr := transportOn(t, liveDevice(t))
	for _, kind := range Kinds() {
		want := kind.Missing(&tr.caps)
		if want != nil && want.Order == 0 {
			t.Errorf("%v", want)
		}
		s, err := tr.NewSender(kind, Config{Linger: 1})
		if err == nil {
			err = s.Close()
		}
		var got *Refusal
		switch {
		case want == nil && err != nil:
			t.Errorf("%s: %v", kind.Name, err)
		case want != nil && (!errors.As(err, &got) || *got != *want):
			t.Errorf("%s: %v, want %v", kind.Name, err, want)
		case want != nil:
			t.Logf("%v, if nobody asserts it", want)
		}
	}
}

// TestLiveDelivery: messages of one packet and of several come once, and in order,
// of one sender and of many, to one reader and to many, whatever is given back
// when.
func TestLiveDelivery(t *testing.T) {
	messages := uint64(400)
	if onKernel() {
		messages = 80
	}
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			w := newLiveWorld(t, kind, 1)
			tr := w.transport("")
			if assumed := assumptionsFor(kind, tr.dev); assumed != nil {
				t.Logf("asserted: bytes of WRITEs %v, of READs %v, WRITEs one after the other %v", tr.caps.WriteOrder, tr.caps.FetchOrder, tr.caps.PlacementOrder)
			}
			const mtu = 1024
			x := w.trial(kind, Config{Slots: 4, Size: 3*mtu - 64, Ring: 8 * mtu, Peers: many, Linger: time.Second}, messages)
			if fault := x.run(); fault != "" {
				t.Fatal(fault)
			}
		})
	}
}

// TestLivePressure: a sender whose receiver takes nothing finds no room at some
// time; who waits for it is freed by a context; and all that was sent comes.
func TestLivePressure(t *testing.T) {
	for _, kind := range Kinds() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s, r := livePair(t, kind)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			sent := fillUp(ctx, t, s)
			f := newFlow(1, 0, s.MaxMessage())
			for n := range sent {
				m, err := r.Receive(ctx)
				if err != nil {
					t.Fatalf("message %d of %d: %v", n, sent, err)
				}
				if _, err := f.check(m.Bytes()); err != nil {
					t.Fatal(err)
				}
				m.Release()
			}
			if m, err := r.TryReceive(); !errors.Is(err, ErrWouldBlock) {
				t.Errorf("%d bytes more, %v", len(m.Bytes()), err)
			}
			must(t, s.Send(ctx, []byte("room again")))
			m, err := r.Receive(ctx)
			if err != nil || string(m.Bytes()) != "room again" {
				t.Errorf("%q, %v", m.Bytes(), err)
			}
			m.Release()
		})
	}
}

// livePair is a channel between two opened devices, which is closed in the end.
func livePair(t *testing.T, kind *Kind) (*Sender, *Receiver) {
	t.Helper()
	cfg := Config{Slots: 8, Size: 1000, Ring: 8 << 10, Linger: 10 * time.Millisecond}
	s, err := liveFor(t, kind).NewSender(kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, s.Close()) })
	r, err := liveFor(t, kind).NewReceiver(kind, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { must(t, r.Close()) })
	must(t, Join(t.Context(), s, r))
	return s, r
}

// fillUp sends until there was no room for a while.
func fillUp(ctx context.Context, t *testing.T, s *Sender) (sent uint64) {
	t.Helper()
	f := newFlow(1, 0, s.MaxMessage())
	for ; ; sent++ {
		if sent == 1<<16 {
			t.Fatal("there is room without an end")
		}
		soon, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		n := f.length()
		l, err := s.Reserve(soon, n)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
		f.fill(l.Bytes(), sent)
		must(t, l.Commit(n))
	}
}

// TestLivePeerGone: a sender whose receiver is closed is told, of kinds whose
// sender asks anything of the device.
func TestLivePeerGone(t *testing.T) {
	for _, kind := range Kinds() {
		if kind.PassiveSender {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s, r := livePair(t, kind)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			must(t, s.Send(ctx, []byte("the first")))
			m, err := r.Receive(ctx)
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
			peer := s.peers[0]
			must(t, r.Close())
			for err == nil && ctx.Err() == nil && peer.Err() == nil {
				err = s.Send(ctx, []byte("lost"))
			}
			if err == nil {
				err = peer.Err()
			}
			if !errors.Is(err, ErrPeerGone) {
				t.Errorf("%v, want ErrPeerGone", err)
			}
		})
	}
}
