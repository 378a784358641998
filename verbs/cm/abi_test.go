package cm

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/verbs"
)

// The kernel's numbers are in the machine's byte order; the tests' bytes are of a
// little-endian one.
func littleEndian(t *testing.T) {
	t.Helper()
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the bytes are those of a little-endian machine")
	}
}

// TestCommandBytes holds commands against what rdma_user_cm.h says of them: sizes
// are those that a C compiler gives its structures.
func TestCommandBytes(t *testing.T) {
	littleEndian(t)
	v4, size4 := storage(netip.MustParseAddrPort("10.9.8.1:4660"), 0)
	v6, size6 := storage(netip.MustParseAddrPort("[fe80::1]:4660"), 3)
	none, size0 := storage(netip.AddrPort{}, 0)
	mapped, _ := storage(netip.MustParseAddrPort("[::ffff:10.9.8.1]:4660"), 0)
	p := param(0x123456, []byte("hi")).bytes()
	for _, test := range []struct {
		name      string
		got       []byte
		size, len int
		want      []byte // the beginning
	}{
		{"header", header(resolveAddr, 272, 0), 8, 8, []byte{21, 0, 0, 0, 0x10, 1, 0, 0}},
		{"sockaddr_in", v4, size4, 16, []byte{2, 0, 0x12, 0x34, 10, 9, 8, 1, 0, 0, 0, 0, 0, 0, 0, 0}},
		{"of an IPv6 address", mapped[:16], 16, 16, v4[:16]},
		{"sockaddr_in6", v6, size6, 28, []byte{10, 0, 0x12, 0x34, 0, 0, 0, 0, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0, 0, 0}},
		{"no address", none, size0, 0, make([]byte, storageSize)},
		{"rdma_ucm_conn_param", p, len(p), 272, []byte{0x56, 0x34, 0x12, 0, 0, 0, 0, 0, 'h', 'i', 0}},
		{"its end", p[264:], 8, 8, []byte{2, 0, 1, 1, 1, retries, 7, 1}},
		{"of who confirms", (&connParam{}).bytes(), 272, 272, make([]byte, 272)},
	} {
		if test.size != test.len || !bytes.HasPrefix(test.got, test.want) {
			t.Errorf("%s: size %d, want %d:\n% x, want\n% x", test.name, test.size, test.len, test.got, test.want)
		}
	}
	for _, a := range []string{"10.9.8.1:4660", "[2001:db8::7]:1"} {
		want := netip.MustParseAddrPort(a)
		if b, _ := storage(want, 0); len(b) != storageSize || address(b) != want {
			t.Errorf("%v comes back as %v of %d bytes", want, address(b), len(b))
		}
	}
	if a := address(none); a.IsValid() {
		t.Errorf("no address is %v", a)
	}
}

// TestAnswers reads what the kernel answers.
func TestAnswers(t *testing.T) {
	littleEndian(t)
	where4 := make([]byte, addrSize)
	copy(where4, []byte{0, 2, 0xc9, 3, 0, 0, 0x12, 0x34, 2, 0, 0xff, 0xff, 16, 0, 16, 0, 2, 0, 0, 7, 10, 9, 8, 1})
	copy(where4[144:], []byte{2, 0, 0, 8, 10, 9, 8, 2})
	want := where{
		guid: 0x0002c90300001234, port: 2, pkey: 0xffff,
		local: netip.MustParseAddrPort("10.9.8.1:7"), remote: netip.MustParseAddrPort("10.9.8.2:8"),
	}
	if got := parseWhere(where4); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, err := parseGID(where4); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("a GID of an IPv4 address: %v", err)
	}
	where4[16] = 27
	gid := ib.MustParseGID("fe80::1:2:3:4")
	copy(where4[24:], gid[:])
	if got, err := parseGID(where4); got != gid || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	paths := make([]byte, pathsSize)
	paths[16+53] = 0xa5
	if sl := parseSL(paths); sl != 0 {
		t.Errorf("no path has %v", sl)
	}
	paths[0] = 1
	if sl := parseSL(paths); sl != 5 {
		t.Errorf("%v, want 5", sl)
	}
}

// TestEvents reads events, and says of each that it is none of those waited for.
func TestEvents(t *testing.T) {
	littleEndian(t)
	for _, test := range []struct {
		kind   byte
		status int32
		text   string
		want   error
		says   string
	}{
		{1, -int32(syscall.ENODEV), "", ErrUnreachable, "address error: no RDMA device leads there: no such device"},
		{3, -int32(syscall.ETIMEDOUT), "", syscall.ETIMEDOUT, "route error: no RDMA device leads there: connection timed out"},
		{6, -int32(syscall.EINVAL), "", syscall.EINVAL, "connect error: invalid argument"},
		{7, -int32(syscall.ETIMEDOUT), "", ErrUnreachable, "the peer does not answer: no RDMA device leads there: connection timed out"},
		{8, 8, "", ErrRejected, "rejected: nobody listens there"},
		{8, 28, "not today", ErrRejected, `rejected: "not today"`},
		{8, 28, "", ErrRejected, "rejected: reason 28"},
		{8, 6, "ignored", ErrRejected, "rejected: reason 6"},
		{10, 0, "", nil, "disconnected, status 0, in place of what was asked for"},
		{15, 0, "", nil, "end of TIMEWAIT, status 0, in place of what was asked for"},
	} {
		b := make([]byte, eventSize)
		b[8], b[12] = 5, test.kind
		binary.LittleEndian.PutUint32(b[16:], uint32(test.status))
		copy(b[28:], test.text)
		b[284] = 148 // the kernel counts all that the message has room for
		e, err := parseEvent(b)
		if err != nil || e.id != 5 {
			t.Fatalf("%+v, %v", e, err)
		}
		if err := e.failure(); err.Error() != test.says || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("event %d: %q, want %q", test.kind, err, test.says)
		}
	}
	b := make([]byte, eventSize)
	b[12] = 16
	if e, err := parseEvent(b); !errors.Is(err, verbs.ErrInvalid) {
		t.Errorf("event 16: %+v, %v", e, err)
	}
}

func TestGreeting(t *testing.T) {
	if err := greeted(&event{private: append(bytes.Clone(greeting), make([]byte, 48)...)}); err != nil {
		t.Error(err)
	}
	for _, b := range [][]byte{nil, []byte("heddle"), []byte("heddle\x00\x02"), make([]byte, 56)} {
		if err := greeted(&event{private: b}); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("%q: %v", b, err)
		}
	}
}

// TestQPAttributes reads struct ib_uverbs_qp_attr; its offsets are those of a C
// compiler.
func TestQPAttributes(t *testing.T) {
	littleEndian(t)
	b := make([]byte, qpAttrSize)
	for at, value := range map[int]uint32{12: 4, 24: 0x111111, 28: 0x222222, 32: 0x333333, 40 + 16: 0x44444} {
		binary.LittleEndian.PutUint32(b[at:], value)
	}
	gid := ib.MustParseGID("::ffff:10.9.8.2")
	copy(b[40:], gid[:])
	copy(b[60:], []byte{3, 64, 9, 0, 0x34, 0x12, 6, 1, 5, 1, 2})
	copy(b[130:], []byte{7, 8, 0, 0, 18, 4, 6})
	want := verbs.CMAttr{
		DestQPN: 0x333333, RecvPSN: 0x111111, SendPSN: 0x222222, MTU: ib.MTU2048, Port: 2, DLID: 0x1234, SL: 6, PathBits: 1, Rate: 5,
		Global: true, GID: gid, GIDIndex: 3, FlowLabel: 0x44444, HopLimit: 64, Class: 9, ReadsIn: 8, ReadsOut: 7, Timeout: 18, Retries: 4, RNRRetries: 6,
	}
	var got verbs.CMAttr
	parseReceive(b, &got)
	parseSend(b, &got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
