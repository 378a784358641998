package verbs_test

import (
	"errors"
	"net"
	"testing"

	"heddle/verbs"
)

// TestAssume: a caller adds what is not known, and changes nothing that is.
func TestAssume(t *testing.T) {
	c := verbs.Caps{PlacementOrder: verbs.Promise{Origin: verbs.Probed}}
	got := c.Assume(verbs.AssumeWriteOrder, verbs.AssumePlacementOrder, verbs.AssumeDeliveryOrder)
	if !got.WriteOrder.Ordered() || got.WriteOrder.Origin != verbs.Assumed {
		t.Errorf("write order %v", got.WriteOrder)
	}
	if got.PlacementOrder.Holds {
		t.Errorf("placement order %v, though the device said no", got.PlacementOrder)
	}
	if !got.DeliveryOrder.Holds || got.FetchOrder.Ordered() || c.WriteOrder.Ordered() {
		t.Errorf("%+v", got)
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{verbs.OpsOf(verbs.OpSend, verbs.OpRead).String(), "SEND, READ"},
		{verbs.Op(99).String(), "Op(99)"},
		{verbs.RTS.String(), "RTS"},
		{verbs.StatusRNRRetryExceeded.String(), "RNR retry counter exceeded"},
		{verbs.EventPeerGone.String(), "peer gone"},
		{verbs.ByteOrder{Chunk: 128, Origin: verbs.Probed}.String(), "whole aligned chunks of 128 bytes (probed)"},
		{verbs.ByteOrder{}.String(), "none (unknown)"},
		{verbs.ByteOrder{Chunk: 1, Last: 8, Origin: verbs.ByConstruction}.String(), "the last word of up to 8 bytes last (by construction)"},
		{verbs.Promise{Holds: true, Origin: verbs.Assumed}.String(), "yes (assumed by the caller)"},
		{(&verbs.WC{Status: verbs.StatusFlushed, QPN: 7, ID: 3}).Err().Error(), "completion QP 7: request 3: WR flushed error"},
		{(&verbs.OpError{Verb: "post", Op: verbs.OpSend, Got: 9, Limit: 8, Err: verbs.ErrInlineLength}).Error(), "post SEND: too much inline data: 9, the limit is 8"},
		{(&verbs.MemlockError{Need: 2, Limit: 1, Err: errors.New("no")}).Error(), "registering 2 bytes: the limit of locked memory is 1 bytes (ulimit -l): no"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
	if !errors.Is(verbs.ErrClosed, net.ErrClosed) || (&verbs.WC{}).Err() != nil {
		t.Error("sentinels")
	}
}
