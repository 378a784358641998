package umad_test

import (
	"testing"

	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// TestIBSimIsADevice holds two clients of ibsim, at two nodes of a subnet that
// OpenSM has brought up, against the contract. They send to each other's own
// queue pairs, as ibsim keeps those of the node to itself.
func TestIBSimIsADevice(t *testing.T) {
	sim := startSim(t)
	testenv.StartOpenSM(t, sim.Name, "the switch").WaitSubnetUp(t)
	umadtest.Run(t, func(t *testing.T) umadtest.Conn {
		a, b := dial(t, "ibsim:"+sim.Name+"/host one"), dial(t, "ibsim:"+sim.Name+"/host two")
		return umadtest.Conn{
			Device: a, Peer: b, ToPeer: addressOf(t, b), ToDevice: addressOf(t, a),
			Agent: umad.Agent{Class: mad.ClassVendor, Version: 1, Methods: []mad.Method{mad.MethodGet}},
			Other: umad.Agent{Class: mad.ClassSNMP, Version: 1, Methods: []mad.Method{mad.MethodGet}},
		}
	})
}

// dial opens a device that the test closes.
func dial(t *testing.T, spec string) umad.Device {
	t.Helper()
	d, err := umad.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
