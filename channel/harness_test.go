package channel

import (
	"encoding/binary"
	"math/rand/v2"
	"runtime"
	"testing"

	"heddle/verbs/sim"
)

// world is a network with transports on it, of one goroutine.
type world struct {
	t    testing.TB
	net  *sim.Network // nil where devices are real, and so is time
	kind *Kind        // that the transports of real devices are for
	rnd  *rand.Rand

	transports map[string]*Transport // of the simulation, by device
}

// newLiveWorld is one of real devices, see liveFor.
func newLiveWorld(t testing.TB, kind *Kind, seed uint64) *world {
	return &world{t: t, kind: kind, rnd: rand.New(rand.NewPCG(seed, 2))}
}

func newWorld(t testing.TB, cfg sim.Config) *world {
	t.Helper()
	net, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.Close() })
	return &world{t: t, net: net, rnd: rand.New(rand.NewPCG(cfg.Seed, 1)), transports: map[string]*Transport{}}
}

// transport adds a device.
func (w *world) transport(name string) *Transport {
	w.t.Helper()
	if w.net == nil {
		return liveFor(w.t, w.kind)
	}
	dev, err := w.net.Add(name)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, err := dev.Open()
	if err != nil {
		w.t.Fatal(err)
	}
	tr, err := NewTransport(ctx)
	if err != nil {
		w.t.Fatal(err)
	}
	w.transports[name] = tr
	return tr
}

// step lets the network go on a little.
func (w *world) step() {
	if w.net == nil {
		runtime.Gosched()
		return
	}
	for range 1 + w.rnd.IntN(4) {
		w.net.Step()
	}
}

// payload is a message that looks as much like bells, flags and lengths as its
// number and the seed make it.
func (w *world) payload(number uint64, n int) []byte {
	b := make([]byte, n)
	patterns := []uint64{0, ^uint64(0), 0x8000000000000001, 0x0101010101010101, uint64(n) | 1<<63, number, number << 32}
	pattern := patterns[w.rnd.IntN(len(patterns))]
	for i := 0; i+8 <= n; i += 8 {
		binary.LittleEndian.PutUint64(b[i:], pattern)
	}
	if n >= 16 {
		binary.LittleEndian.PutUint64(b[w.rnd.IntN(n-15):], number)
	}
	return b
}
