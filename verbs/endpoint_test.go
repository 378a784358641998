package verbs_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

func testEndpoint() verbs.EndpointAttr {
	return verbs.EndpointAttr{
		Type: verbs.UD, Link: verbs.LinkEthernet, MTU: ib.MTU1024, Reads: 16, GIDType: verbs.GIDRoCEv2,
		LID: 0x0102, Port: 0x1112, QPN: 0x030405, PSN: 0x060708, QKey: 0x090a0b0c, GID: ib.MustParseGID("::ffff:10.0.0.1"),
	}
}

const goldenEndpoint = "ibe\x01\x03\x02\x03\x10\x03\x01\x02\x11\x12\x00\x03\x04\x05\x00\x06\x07\x08\x09\x0a\x0b\x0c" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\x0a\x00\x00\x01"

func TestEndpoint(t *testing.T) {
	e := testEndpoint()
	b := e.Encode()
	if string(b) != goldenEndpoint {
		t.Errorf("%x, want %x", b, goldenEndpoint)
	}
	if got, err := verbs.ParseEndpoint(b); got != e || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if got, err := verbs.ParseEndpoint(b[:n]); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("of %d bytes: %+v, %v", n, got, err)
		}
	}
	for name, change := range map[string]func(*verbs.EndpointAttr){
		"service":    func(e *verbs.EndpointAttr) { e.Type = 9 },
		"link":       func(e *verbs.EndpointAttr) { e.Link = verbs.LinkMemory },
		"MTU":        func(e *verbs.EndpointAttr) { e.MTU = 0 },
		"GID type":   func(e *verbs.EndpointAttr) { e.GIDType = 4 },
		"QPN":        func(e *verbs.EndpointAttr) { e.QPN = 1 << 24 },
		"PSN":        func(e *verbs.EndpointAttr) { e.PSN = 1 << 24 },
		"no GID":     func(e *verbs.EndpointAttr) { e.GID = ib.GID{} },
		"group":      func(e *verbs.EndpointAttr) { e.GID = ib.MustParseGID("ff12::1") },
		"good again": nil,
	} {
		e := testEndpoint()
		if change != nil {
			change(&e)
		}
		if _, err := verbs.ParseEndpoint(e.Encode()); (err == nil) != (change == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestPingPongText(t *testing.T) {
	e := testEndpoint()
	const text = "0102:030405:060708:00000000000000000000ffff0a000001"
	if got := e.PingPongText(); got != text {
		t.Errorf("%q, want %q", got, text)
	}
	got := verbs.EndpointAttr{Type: e.Type, Link: e.Link, MTU: e.MTU, Reads: e.Reads, GIDType: e.GIDType, Port: e.Port, QKey: e.QKey}
	if err := got.ParsePingPong(text); err != nil || got != e {
		t.Errorf("%+v, %v", got, err)
	}
	for _, bad := range []string{"", text[1:], text + "0", strings.Replace(text, ":", ";", 1), strings.Replace(text, "03", "0g", 1)} {
		before := got
		if err := got.ParsePingPong(bad); !errors.Is(err, verbs.ErrInvalid) || got != before {
			t.Errorf("of %q: %+v, %v", bad, got, err)
		}
	}
}

// TestMeetPingPong plays each part of the exchange by hand.
func TestMeetPingPong(t *testing.T) {
	own := testEndpoint()
	own.Type, own.Port = verbs.RC, 0
	const hello, other = "0102:030405:060708:00000000000000000000ffff0a000001\x00", "0000:00000a:00000b:00000000000000000000ffff0a000002\x00"
	want := own
	want.LID, want.QPN, want.PSN, want.Reads, want.GID = 0, 10, 11, 1, ib.MustParseGID("::ffff:10.0.0.2")
	for client, script := range map[bool][2]string{true: {other, hello + "done\x00"}, false: {other + "done\x00", hello}} {
		conn := &halves{Reader: strings.NewReader(script[0])}
		var got verbs.EndpointAttr
		if err := verbs.MeetPingPong(conn, own, client, func(e verbs.EndpointAttr) error { got = e; return nil }); err != nil || got != want || conn.String() != script[1] {
			t.Errorf("client %v: %+v, %v, said %q", client, got, err, conn.String())
		}
	}
	refused := errors.New("refused")
	if err := verbs.MeetPingPong(&halves{Reader: strings.NewReader(other)}, own, false, func(verbs.EndpointAttr) error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
	own.Port = 4792
	if err := verbs.MeetPingPong(&halves{Reader: strings.NewReader(other)}, own, false, nil); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("with another port: %v", err)
	}
}

// halves is a connection of which one half is read, and the other written.
type halves struct {
	io.Reader
	bytes.Buffer
}

func (h *halves) Read(p []byte) (int, error) { return h.Reader.Read(p) }

func FuzzEndpoint(f *testing.F) {
	f.Add([]byte(goldenEndpoint))
	f.Add([]byte("ibe\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := verbs.ParseEndpoint(b)
		if err != nil {
			if e != (verbs.EndpointAttr{}) || !errors.Is(err, verbs.ErrInvalid) {
				t.Errorf("%+v beside %v", e, err)
			}
			return
		}
		if again := e.Encode(); !bytes.Equal(again, b) {
			t.Errorf("%x became %x", b, again)
		}
	})
}
