package packet_test

import (
	"bytes"
	"testing"

	"heddle/packet"
)

// FuzzHeaders: what parses has the same value when it is written and read again.
func FuzzHeaders(f *testing.F) {
	for _, test := range golden() {
		f.Add(test.headers.AppendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var h, again packet.Headers
		payload, err := h.Parse(b)
		if err != nil {
			if payload != nil {
				t.Fatalf("a payload and the error %v", err)
			}
			return
		}
		out := append(h.AppendTo(nil), b[len(b)-len(payload)-int(h.BTH.Pad):]...)
		if payload2, err := again.Parse(out); err != nil || again != h || !bytes.Equal(payload, payload2) {
			t.Fatalf("%+v\nbecame %+v, %v", h, again, err)
		}
	})
}

// FuzzFrame: frames of Ethernet and of InfiniBand may be anything.
func FuzzFrame(f *testing.F) {
	for _, r := range reference() {
		f.Add(unhex(f, r.frame))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var lrh packet.LRH
		if rest, err := lrh.Parse(b); err == nil {
			plain := bytes.Clone(b)
			plain[1], plain[4] = plain[1]&0xf3, plain[4]&7 // the reserved bits
			same(t, plain, rest, lrh.AppendTo(nil))
		}
		var grh packet.GRH
		if rest, err := grh.Parse(b); err == nil {
			same(t, b, rest, grh.AppendTo(nil))
		}
		var link packet.Ethernet
		rest, err := link.Parse(b)
		if err != nil {
			return
		}
		var four packet.IPv4
		if inner, err := four.Parse(rest); err == nil {
			same(t, rest[:four.Length], inner, four.AppendTo(nil))
			parseUDP(t, inner)
		}
		var six packet.IPv6
		if inner, err := six.Parse(rest); err == nil {
			same(t, rest[:packet.IPv6Size+int(six.Length)], inner, six.AppendTo(nil))
			parseUDP(t, inner)
		}
	})
}

// same reports a header that is written otherwise than it was read.
func same(t *testing.T, b, rest, again []byte) {
	t.Helper()
	head := bytes.Clone(b[:len(b)-len(rest)])
	if !bytes.Equal(head, again) {
		t.Fatalf("%x is written as %x", head, again)
	}
}

func parseUDP(t *testing.T, b []byte) {
	var udp packet.UDP
	if rest, err := udp.Parse(b); err == nil {
		same(t, b[:udp.Length], rest, udp.AppendTo(nil))
	}
}
