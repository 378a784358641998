//go:build amd64 || arm64

package ibv

import (
	"errors"
	"testing"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// TestConnectCM is what the library is told on the way to RTS that a connection
// manager found.
func TestConnectCM(t *testing.T) {
	b := newBench(t, verbs.QPAttr{Type: verbs.RC, RNRTimer: time.Millisecond})
	defer b.close()
	gid := ib.MustParseGID("fec0::2")
	a := &verbs.CMAttr{
		DestQPN: 0x77, RecvPSN: 0x1234, SendPSN: 0x4321, MTU: ib.MTU1024, Port: 1, DLID: 9, SL: 3, PathBits: 1, Rate: 5,
		Global: true, GID: gid, GIDIndex: 2, FlowLabel: 6, HopLimit: 7, Class: 8, ReadsIn: 2, ReadsOut: 1, Timeout: 18, Retries: 4, RNRRetries: 7,
	}
	want := ibvAHAttr{GRH: ibvGRH{GID: gid, FlowLabel: 6, GIDIndex: 2, HopLimit: 7, Class: 8}, DLID: 9, SL: 3, PathBits: 1, Rate: 5, Global: 1, Port: 1}
	if got := managedAddress(a); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	must(t, b.qp.ConnectCM(a))
	attr, mask := variable[ibvQPAttr](b.dummy, "dummy_attr"), variable[uint32](b.dummy, "dummy_mask")
	if attr.State != 3 || attr.SendPSN != 0x4321 || attr.Reads != 1 || attr.Timeout != 18 || attr.Retries != 4 || attr.RNRRetry != 7 || *mask != 0x12e01 {
		t.Errorf("RTS: %+v, %#x", *attr, *mask)
	}
	if mtu := b.qp.Attr().MTU; mtu != ib.MTU1024 {
		t.Errorf("MTU %v", mtu)
	}
	if err := b.qp.ConnectCM(a); !errors.Is(err, verbs.ErrState) {
		t.Errorf("once more: %v", err)
	}
}
