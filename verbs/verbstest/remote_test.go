package verbstest

import (
	"errors"
	"net"
	"testing"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// TestAcrossAConnection runs the suite with its far end at the other end of a
// connection, on simulated devices in real time: with virtual time both ends have
// to wait in one place.
func TestAcrossAConnection(t *testing.T) {
	near, far := net.Pipe()
	var current *sim.Network
	served := make(chan error, 1)
	go func() { served <- Serve(far, func() (verbs.Context, error) { return add(current, "far") }) }()
	peer := Dial(near)
	Run(t, Suite{
		Open: func(tb testing.TB) (verbs.Context, verbs.Context) {
			n, err := sim.New(sim.Config{Profile: sim.InOrder(), Clock: sim.Real})
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(func() { n.Close() }) //nolint:errcheck // of a test
			current = n
			a, err := add(n, "near")
			b, failed := peer.Open()
			if err = errors.Join(err, failed); err != nil {
				tb.Fatal(err)
			}
			return a, b
		},
		MaxSize: 64 << 10, Rounds: 20,
	})
	if err := errors.Join(peer.Close(), <-served); err != nil {
		t.Error(err)
	}
}

func add(n *sim.Network, name string) (verbs.Context, error) {
	dev, err := n.Add(name)
	if err != nil {
		return nil, err
	}
	return dev.Open()
}
