package ibv

import (
	"bytes"
	"errors"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

func testEndpoint() endpoint {
	return endpoint{
		Type: verbs.UD, Link: verbs.LinkEthernet, MTU: ib.MTU1024, Reads: 16, GIDType: verbs.GIDRoCEv2,
		LID: 0x0102, QPN: 0x030405, PSN: 0x060708, QKey: 0x090a0b0c, GID: ib.MustParseGID("::ffff:10.0.0.1"),
	}
}

const goldenEndpoint = "ibv\x01\x03\x02\x03\x10\x03\x01\x02\x00\x03\x04\x05\x00\x06\x07\x08\x09\x0a\x0b\x0c" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0a\x00\x00\x01"

func TestEndpoint(t *testing.T) {
	e := testEndpoint()
	b := e.encode()
	if string(b) != goldenEndpoint {
		t.Errorf("%x, want %x", b, goldenEndpoint)
	}
	if got, err := parseEndpoint(b); got != e || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if got, err := parseEndpoint(b[:n]); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("of %d bytes: %+v, %v", n, got, err)
		}
	}
	for name, change := range map[string]func(*endpoint){
		"service":    func(e *endpoint) { e.Type = 9 },
		"link":       func(e *endpoint) { e.Link = verbs.LinkMemory },
		"MTU":        func(e *endpoint) { e.MTU = 0 },
		"GID type":   func(e *endpoint) { e.GIDType = 4 },
		"QPN":        func(e *endpoint) { e.QPN = 1 << 24 },
		"PSN":        func(e *endpoint) { e.PSN = 1 << 24 },
		"no GID":     func(e *endpoint) { e.GID = ib.GID{} },
		"group":      func(e *endpoint) { e.GID = ib.MustParseGID("ff12::1") },
		"good again": nil,
	} {
		e := testEndpoint()
		if change != nil {
			change(&e)
		}
		if _, err := parseEndpoint(e.encode()); (err == nil) != (change == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzEndpoint(f *testing.F) {
	f.Add([]byte(goldenEndpoint))
	f.Add([]byte("ibv\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseEndpoint(b)
		if err != nil {
			if e != (endpoint{}) || !errors.Is(err, verbs.ErrInvalid) {
				t.Errorf("%+v beside %v", e, err)
			}
			return
		}
		if again := e.encode(); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
