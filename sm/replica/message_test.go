package replica

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/sm/store"
)

var messages = []struct {
	name    string
	message message
	bytes   string
}{
	{"hello", message{kind: kindHello, role: Leader, epoch: 300, at: store.Position{Index: 2, Epoch: 5}}, "00000007" + "01" + "01" + "01" + "ac02" + "0205"},
	{"status", message{kind: kindStatus, epoch: 1}, "00000005" + "02" + "00" + "01" + "0000"},
	{"follow", message{kind: kindFollow, at: store.Position{Index: 1, Epoch: 2}}, "00000003" + "03" + "0102"},
	{"ack", message{kind: kindAck, at: store.Position{Index: 128, Epoch: 2}}, "00000004" + "04" + "8001" + "02"},
	{"part", message{kind: kindPart, at: store.Position{Index: 1, Epoch: 2}, part: []byte{7, 8}}, "00000006" + "05" + "0102" + "00" + "0708"},
	{"last part", message{kind: kindPart, at: store.Position{Index: 1, Epoch: 2}, last: true, part: []byte{}}, "00000004" + "05" + "0102" + "01"},
}

var sameMessage = cmp.AllowUnexported(message{})

func TestMessages(t *testing.T) {
	for _, test := range messages {
		t.Run(test.name, func(t *testing.T) {
			frame := test.message.appendFrame(nil)
			if got := hex.EncodeToString(frame); got != test.bytes {
				t.Errorf("encoded %s, want %s", got, test.bytes)
			}
			got, _, err := readFrame(bytes.NewReader(frame), nil)
			if diff := cmp.Diff(test.message, got, sameMessage); diff != "" || err != nil {
				t.Errorf("read, %v:\n%s", err, diff)
			}
			for n := range frame {
				if _, _, err := readFrame(bytes.NewReader(frame[:n]), nil); !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Errorf("the first %d bytes: %v", n, err)
				}
			}
			if test.message.kind == kindPart {
				return // has no end of its own
			}
			for n := range frame[4:] {
				if m, err := parseMessage(frame[4 : 4+n]); !errors.Is(err, ErrMessage) || m.kind != 0 {
					t.Errorf("a message of %d bytes: %+v, %v", n, m, err)
				}
			}
			if _, err := parseMessage(append(frame[4:], 0)); !errors.Is(err, ErrMessage) {
				t.Errorf("a byte more: %v", err)
			}
		})
	}
}

func TestBadMessages(t *testing.T) {
	tests := []struct {
		name, bytes string
		want        error
	}{
		{"version", "010200010000", ErrVersion},
		{"role", "0202010000", ErrMessage},
		{"kind", "0900", ErrMessage},
		{"flag", "05010202", ErrMessage},
		{"number", "03ffffffffffffffffffff0101", ErrMessage},
		{"empty", "", ErrMessage},
	}
	for _, test := range tests {
		b, err := hex.DecodeString(test.bytes)
		if err != nil {
			t.Fatal(err)
		}
		if m, err := parseMessage(b); !errors.Is(err, test.want) {
			t.Errorf("%s: %+v, error %v, want %v", test.name, m, err, test.want)
		}
	}
}

// TestOversizedFrame is refused by its length, without memory for it.
func TestOversizedFrame(t *testing.T) {
	_, buffer, err := readFrame(bytes.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 1}), nil)
	if !errors.Is(err, ErrMessage) || cap(buffer) > 0 {
		t.Errorf("error %v, buffer of %d", err, cap(buffer))
	}
	whole := message{kind: kindPart, at: store.Position{Index: 1<<64 - 1, Epoch: 1<<64 - 1}, part: make([]byte, partLen)}
	if _, _, err := readFrame(bytes.NewReader(whole.appendFrame(nil)), nil); err != nil {
		t.Errorf("the longest frame: %v", err)
	}
}

func FuzzParseMessage(f *testing.F) {
	for _, test := range messages {
		f.Add(test.message.appendTo(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if (m.kind == 0) == (err == nil) {
			t.Fatalf("%+v and %v", m, err)
		}
		if err != nil {
			return
		}
		again, err := parseMessage(m.appendTo(nil))
		if diff := cmp.Diff(m, again, sameMessage); diff != "" || err != nil {
			t.Fatalf("parsed again, %v:\n%s", err, diff)
		}
	})
}
