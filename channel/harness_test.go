package channel

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"heddle/verbs/sim"
)

// world is a simulated network with transports on it, of one goroutine.
type world struct {
	t   testing.TB
	net *sim.Network
	rnd *rand.Rand
}

func newWorld(t testing.TB, cfg sim.Config) *world {
	t.Helper()
	net, err := sim.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = net.Close() })
	return &world{t: t, net: net, rnd: rand.New(rand.NewPCG(cfg.Seed, 1))}
}

// transport adds a device.
func (w *world) transport(name string) *Transport {
	w.t.Helper()
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
	return tr
}

// step lets the network go on a little.
func (w *world) step() {
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
