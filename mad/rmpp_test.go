package mad

import (
	"bytes"
	"container/heap"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// badLink loses, repeats and reorders.
type badLink struct {
	seed            uint64
	loss, duplicate float64
	delay, jitter   time.Duration
}

// event is a datagram that arrives at one of the ends, or the time of its
// deadline.
type event struct {
	at  time.Duration
	to  int // 0 is the sender
	d   *Datagram
	seq int
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].seq < e[j].seq
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// machine is what both ends have in common.
type machine interface {
	Step(now time.Duration, in *Datagram, out []Datagram) []Datagram
	Deadline() (time.Duration, bool)
	Over() bool
	Err() error
}

var (
	_ machine = (*RMPPSender)(nil)
	_ machine = (*RMPPReceiver)(nil)
)

// run lets the two ends talk until nothing happens any more, and returns when
// that was and how many datagrams were sent.
func (l badLink) run(ends [2]machine) (now time.Duration, sent int) {
	random := rand.New(rand.NewPCG(l.seed, 0))
	var queue events
	seq := 0
	push := func(at time.Duration, to int, d *Datagram) {
		seq++
		heap.Push(&queue, event{at, to, d, seq})
	}
	step := func(end int, in *Datagram) {
		out := ends[end].Step(now, in, nil)
		sent += len(out)
		for i := range out {
			for range l.copies(random) {
				push(now+l.delay+time.Duration(random.Int64N(int64(l.jitter)+1)), 1-end, &out[i])
			}
		}
		if at, ok := ends[end].Deadline(); ok && at > now {
			push(at, end, nil)
		}
	}
	step(0, nil)
	for len(queue) > 0 {
		e := heap.Pop(&queue).(event)
		if at, ok := ends[e.to].Deadline(); e.d != nil || ok && at <= e.at {
			now = e.at
			step(e.to, e.d)
		}
	}
	return now, sent
}

func (l badLink) copies(random *rand.Rand) int {
	switch {
	case random.Float64() < l.loss:
		return 0
	case random.Float64() < l.duplicate:
		return 2
	default:
		return 1
	}
}

// message is one of a class with n bytes of data.
func message(class Class, n int) []byte {
	offset, _ := RMPPOffset(class)
	m := make([]byte, offset+n)
	copy(m, Header{Class: class, ClassVersion: 2, Method: MethodGetTableResp, TID: 9, Attr: AttrNodeRecord}.AppendTo(nil))
	if class == ClassSA {
		binary.BigEndian.PutUint16(m[offAttributeOffset:], 14)
	}
	random := rand.New(rand.NewPCG(uint64(n), 1))
	for i := offset; i < len(m); i++ {
		m[i] = byte(random.Uint32())
	}
	return m
}

// transfer sends a message and checks that it arrives.
func transfer(t interface{ Fatalf(string, ...any) }, l badLink, m []byte, o RMPPOptions) (took time.Duration, sent int) {
	sender, err := NewRMPPSender(m, o)
	if err != nil {
		t.Fatalf("NewRMPPSender: %v", err)
	}
	receiver := NewRMPPReceiver(o)
	took, sent = l.run([2]machine{sender, receiver})
	if err := receiver.Err(); err != nil || !receiver.Over() {
		t.Fatalf("receiver: over %v, error %v", receiver.Over(), err)
	}
	if err := sender.Err(); !sender.Over() {
		t.Fatalf("sender: over %v, error %v", sender.Over(), err)
	}
	got := receiver.Message()
	if !bytes.Equal(got[36:], m[36:]) || !bytes.Equal(got[:24], m[:24]) {
		t.Fatalf("%d bytes arrived, %d were sent, or others", len(got), len(m))
	}
	return took, sent
}

func TestRMPPLengths(t *testing.T) {
	for _, class := range []Class{ClassSA, ClassVendor2} {
		for _, n := range []int{0, 1, 199, 200, 201, 215, 216, 217, 400, 432, 13000, 1 << 20} {
			took, sent := transfer(t, badLink{delay: time.Millisecond}, message(class, n), RMPPOptions{})
			segments := max(1, (n+199)/200)
			if sent > segments*2 || took > time.Duration(segments)*4*time.Millisecond {
				t.Errorf("%s, %d bytes: %d datagrams, %v", class, n, sent, took)
			}
		}
	}
}

// TestRMPPHeaders follows a short transfer datagram by datagram, as IBTA 1,
// 13.6 has it.
func TestRMPPHeaders(t *testing.T) {
	m := message(ClassSA, 500)
	sender, err := NewRMPPSender(m, RMPPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	receiver := NewRMPPReceiver(RMPPOptions{Window: 10})
	var got []RMPPHeader
	ends, methods := [2]machine{sender, receiver}, [2]Method{MethodGetTableResp, MethodGetTable}
	out := sender.Step(0, nil, nil)
	for end := 1; len(out) > 0; end = 1 - end {
		var answers []Datagram
		for _, d := range out {
			h := d.RMPP()
			if d.Method() != methods[1-end] || d.TID() != 9 || h.Version != 1 || h.RespTime != RMPPNoRespTime {
				t.Errorf("%s of %s with ID %d, version %d", h.Type, d.Method(), d.TID(), h.Version)
			}
			h.Version, h.RespTime = 0, 0
			got = append(got, h)
			answers = ends[end].Step(0, &d, answers)
		}
		out = answers
	}
	want := []RMPPHeader{
		{Type: RMPPData, Flags: RMPPActive | RMPPFirst, Data1: 1, Data2: 500 + 3*20},
		{Type: RMPPAck, Flags: RMPPActive, Data1: 1, Data2: 11},
		{Type: RMPPData, Flags: RMPPActive, Data1: 2},
		{Type: RMPPData, Flags: RMPPActive | RMPPLast, Data1: 3, Data2: 100 + 20},
		{Type: RMPPAck, Flags: RMPPActive, Data1: 3, Data2: 11},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
}

// TestRMPPBadLink is the property: whatever the link does, the message arrives
// byte for byte.
func TestRMPPBadLink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := badLink{
			seed: rapid.Uint64().Draw(t, "seed"), delay: time.Millisecond,
			loss: rapid.Float64Range(0, 0.25).Draw(t, "loss"), duplicate: rapid.Float64Range(0, 0.3).Draw(t, "duplicate"),
			jitter: time.Duration(rapid.IntRange(0, 5000).Draw(t, "jitter")) * time.Microsecond,
		}
		class := rapid.SampledFrom([]Class{ClassSA, ClassVendor2}).Draw(t, "class")
		n := rapid.OneOf(rapid.IntRange(1, 1000), rapid.IntRange(1, 1<<20)).Draw(t, "bytes")
		window := rapid.SampledFrom([]int{0, 1, 2, 7, 64}).Draw(t, "window")
		transfer(t, l, message(class, n), RMPPOptions{Window: window, Retries: 30, Idle: time.Minute, Total: time.Hour})
	})
}

func TestRMPPMegabyteOnABadLink(t *testing.T) {
	l := badLink{seed: 1, loss: 0.2, duplicate: 0.1, delay: time.Millisecond, jitter: time.Millisecond}
	took, sent := transfer(t, l, message(ClassSA, 1<<20), RMPPOptions{})
	t.Logf("5243 segments: %d datagrams, %v", sent, took)
}

// TestRMPPDeadPeer ends by itself in time.
func TestRMPPDeadPeer(t *testing.T) {
	sender, err := NewRMPPSender(message(ClassSA, 1000), RMPPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	took, sent := badLink{loss: 1}.run([2]machine{sender, NewRMPPReceiver(RMPPOptions{})})
	var typed *RMPPError
	if !errors.As(sender.Err(), &typed) || typed.Status != RMPPTooManyRetries || typed.ByPeer {
		t.Errorf("error %v", sender.Err())
	}
	if took != 16*200*time.Millisecond || sent != 17 {
		t.Errorf("%d datagrams, %v", sent, took)
	}

	receiver := NewRMPPReceiver(RMPPOptions{})
	first := segment(1, RMPPFirst, 0)
	if out := receiver.Step(time.Second, &first, nil); len(out) != 1 || out[0].RMPP().Type != RMPPAck {
		t.Fatalf("first segment answered by %v", out)
	}
	at, ok := receiver.Deadline()
	if !ok || at != 11*time.Second {
		t.Errorf("deadline %v, %v", at, ok)
	}
	out := receiver.Step(at, nil, nil)
	if len(out) != 1 || out[0].RMPP().Type != RMPPAbort || out[0].RMPP().Status != RMPPTimeTooLong || !receiver.Over() {
		t.Errorf("at the deadline: %v, over %v", out, receiver.Over())
	}
}

// TestRMPPOnce sends to a peer that may know nothing of RMPP.
func TestRMPPOnce(t *testing.T) {
	once := RMPPOptions{Once: true}
	sender, err := NewRMPPSender(message(ClassSA, 1000), once)
	if err != nil {
		t.Fatal(err)
	}
	took, sent := badLink{loss: 1}.run([2]machine{sender, NewRMPPReceiver(RMPPOptions{})})
	var typed *RMPPError
	if !errors.As(sender.Err(), &typed) || typed.Status != RMPPTooManyRetries || took != 200*time.Millisecond || sent != 1 {
		t.Errorf("%d datagrams, %v, error %v", sent, took, sender.Err())
	}
	if sender, err = NewRMPPSender(message(ClassSA, 1000), once); err != nil {
		t.Fatal(err)
	}
	sender.Step(0, nil, nil)
	ack := Datagram{}
	ack.rmppHeaders(message(ClassSA, 0), 56, RMPPHeader{Type: RMPPAck, Data1: 1, Data2: 2})
	second := sender.Step(time.Millisecond, &ack, nil)
	at, _ := sender.Deadline()
	again := sender.Step(at, nil, nil)
	if diff := cmp.Diff(second, again); len(again) != 1 || diff != "" {
		t.Errorf("to a peer that was heard of, the second segment is sent again as %v\n%s", again, diff)
	}
	transfer(t, badLink{delay: time.Millisecond}, message(ClassSA, 100_000), once)
}

// segment is one of a table.
func segment(n uint32, flags RMPPFlags, payload uint32, change ...func(h *RMPPHeader)) Datagram {
	h := RMPPHeader{Version: 1, Type: RMPPData, RespTime: RMPPNoRespTime, Flags: flags | RMPPActive, Data1: n, Data2: payload}
	for _, f := range change {
		f(&h)
	}
	var d Datagram
	copy(d[:], message(ClassSA, 200))
	d.SetRMPP(h)
	return d
}

// TestRMPPReceiverRefuses are segments that end a transfer, after a good first
// one and its ACK.
func TestRMPPReceiverRefuses(t *testing.T) {
	set := func(f func(h *RMPPHeader)) func(h *RMPPHeader) { return f }
	tests := []struct {
		name string
		d    []Datagram
		kind RMPPType
		want RMPPStatus
	}{
		{"version", []Datagram{segment(2, 0, 0, set(func(h *RMPPHeader) { h.Version = 2 }))}, RMPPAbort, RMPPBadVersion},
		{"type", []Datagram{segment(2, 0, 0, set(func(h *RMPPHeader) { h.Type = 9 }))}, RMPPAbort, RMPPBadType},
		{"no type", []Datagram{segment(2, 0, 0, set(func(h *RMPPHeader) { h.Type = RMPPNone }))}, RMPPAbort, RMPPBadType},
		{"status", []Datagram{segment(2, 0, 0, set(func(h *RMPPHeader) { h.Status = 1 }))}, RMPPAbort, RMPPBadStatus},
		{"segment 0", []Datagram{segment(0, 0, 0)}, RMPPAbort, RMPPBadFirst},
		{"first is not 1", []Datagram{segment(2, RMPPFirst, 0)}, RMPPAbort, RMPPBadFirst},
		{"1 is not first", []Datagram{segment(1, 0, 0)}, RMPPAbort, RMPPBadFirst},
		{"last without class header", []Datagram{segment(2, RMPPLast, 19)}, RMPPAbort, RMPPBadLength},
		{"last too long", []Datagram{segment(2, RMPPLast, 221)}, RMPPAbort, RMPPBadLength},
		{"two last ones", []Datagram{segment(3, RMPPLast, 30), segment(4, RMPPLast, 30)}, RMPPAbort, RMPPBadLength},
		{"behind the last", []Datagram{segment(3, RMPPLast, 30), segment(4, 0, 0)}, RMPPAbort, RMPPBadLength},
		{"last before others", []Datagram{segment(5, 0, 0), segment(3, RMPPLast, 30)}, RMPPAbort, RMPPBadLength},
		{"not what was announced", []Datagram{segment(2, RMPPLast, 200)}, RMPPAbort, RMPPBadLength},
		{"too long", []Datagram{segment(100, 0, 0)}, RMPPStop, RMPPResources},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewRMPPReceiver(RMPPOptions{MaxBytes: 10_000})
			first := segment(1, RMPPFirst, 3*220)
			r.Step(0, &first, nil)
			var out []Datagram
			for _, d := range test.d {
				out = r.Step(0, &d, nil)
			}
			var typed *RMPPError
			if !errors.As(r.Err(), &typed) || typed.Status != test.want || typed.ByPeer || r.Message() != nil {
				t.Errorf("error %v, want %v", r.Err(), test.want)
			}
			if len(out) != 1 || out[0].RMPP().Type != test.kind || out[0].RMPP().Status != test.want || out[0].Method() != MethodGetTable {
				t.Errorf("the peer is told %v", out)
			}
		})
	}
}

func TestRMPPReceiverPassesOver(t *testing.T) {
	tests := []struct {
		name string
		d    Datagram
		acks int
	}{
		{"behind the window", segment(99, 0, 0), 0},
		{"duplicate", segment(1, RMPPFirst, 0), 1},
		{"not active", segment(2, 0, 0, func(h *RMPPHeader) { h.Flags = 0 }), 0},
		{"ACK", segment(2, 0, 0, func(h *RMPPHeader) { h.Type = RMPPAck }), 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := NewRMPPReceiver(RMPPOptions{})
			first := segment(1, RMPPFirst, 0)
			r.Step(0, &first, nil)
			out := r.Step(0, &test.d, nil)
			if r.Over() || len(out) != test.acks {
				t.Errorf("over %v (%v), answered by %d datagrams", r.Over(), r.Err(), len(out))
			}
			last := segment(2, RMPPLast, 20+55)
			r.Step(0, &last, nil)
			if m := r.Message(); len(m) != 56+200+55 {
				t.Errorf("message of %d bytes, error %v", len(m), r.Err())
			}
		})
	}
}

// TestRMPPAnnouncedTooLong refuses at the first segment.
func TestRMPPAnnouncedTooLong(t *testing.T) {
	r := NewRMPPReceiver(RMPPOptions{})
	first := segment(1, RMPPFirst, 0xffffffff)
	out := r.Step(0, &first, nil)
	if len(out) != 1 || out[0].RMPP().Type != RMPPStop || !r.Over() || r.Size() > 1024 {
		t.Errorf("answered by %v, over %v, holds %d bytes", out, r.Over(), r.Size())
	}
}

func TestRMPPSenderRefuses(t *testing.T) {
	ack := func(last, window uint32) Datagram {
		return segment(last, 0, window, func(h *RMPPHeader) { h.Type = RMPPAck })
	}
	of := func(f func(h *RMPPHeader)) Datagram { return segment(1, 0, 1, f) }
	tests := []struct {
		name   string
		d      Datagram
		want   RMPPStatus
		byPeer bool
	}{
		{"ACK of what was not sent", ack(2, 10), RMPPSegmentTooBig, false},
		{"window before the segment", ack(1, 0), RMPPWindowTooSmall, false},
		{"version", of(func(h *RMPPHeader) { h.Type, h.Version = RMPPAck, 3 }), RMPPBadVersion, false},
		{"type", of(func(h *RMPPHeader) { h.Type = 5 }), RMPPBadType, false},
		{"status", of(func(h *RMPPHeader) { h.Type, h.Status = RMPPAck, 1 }), RMPPBadStatus, false},
		{"STOP", of(func(h *RMPPHeader) { h.Type, h.Status = RMPPStop, RMPPResources }), RMPPResources, true},
		{"ABORT", of(func(h *RMPPHeader) { h.Type, h.Status = RMPPAbort, 200 }), 200, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s, err := NewRMPPSender(message(ClassSA, 1000), RMPPOptions{})
			if err != nil {
				t.Fatal(err)
			}
			s.Step(0, nil, nil)
			out := s.Step(0, &test.d, nil)
			var typed *RMPPError
			if !errors.As(s.Err(), &typed) || typed.Status != test.want || typed.ByPeer != test.byPeer {
				t.Errorf("error %v, want %v", s.Err(), test.want)
			}
			if told := len(out) == 1 && out[0].RMPP().Type == RMPPAbort && out[0].RMPP().Status == test.want; told == test.byPeer {
				t.Errorf("the peer is told %v", out)
			}
		})
	}
}

func TestRMPPDualSided(t *testing.T) {
	for _, dual := range []bool{false, true} {
		s, err := NewRMPPSender(message(ClassSA, 10), RMPPOptions{DualSided: dual})
		if err != nil {
			t.Fatal(err)
		}
		s.Step(0, nil, nil)
		ack := segment(1, 0, 1, func(h *RMPPHeader) { h.Type = RMPPAck })
		out := s.Step(0, &ack, nil)
		if !s.Over() || s.Err() != nil {
			t.Fatalf("over %v, error %v", s.Over(), s.Err())
		}
		turned := len(out) == 1 && out[0].RMPP().Type == RMPPAck && out[0].RMPP().Data1 == 0 && out[0].RMPP().Data2 == 1
		if turned != dual {
			t.Errorf("dual-sided %v: ends with %v", dual, out)
		}
	}
}

func TestNewRMPPSenderRefuses(t *testing.T) {
	for _, m := range [][]byte{nil, make([]byte, 23), message(ClassSA, 0)[:55], make([]byte, 300)} {
		if s, err := NewRMPPSender(m, RMPPOptions{}); err == nil || s != nil {
			t.Errorf("%d bytes: no error", len(m))
		}
	}
}

// fuzzRMPP lets a stranger talk to one end: each step is a delay and what
// differs from a datagram in order.
func fuzzRMPP(t *testing.T, m machine, script []byte, check func()) {
	var now time.Duration
	m.Step(0, nil, nil)
	for len(script) >= 12 {
		now += time.Duration(script[0]) * time.Millisecond
		d := segment(uint32(binary.BigEndian.Uint16(script[4:])), RMPPFlags(script[2]), binary.BigEndian.Uint32(script[6:]), func(h *RMPPHeader) {
			h.Type, h.Status = RMPPType(script[1]%6), RMPPStatus(script[3])
			if script[10] > 250 {
				h.Version = script[10]
			}
		})
		d[1] = byte([]Class{ClassSA, ClassVendor2, ClassPerf}[script[11]%32/11%3])
		if out := m.Step(now, &d, nil); len(out) > 66 {
			t.Fatalf("%d datagrams at once", len(out))
		}
		check()
		script = script[12:]
	}
	for range 10_000 {
		at, ok := m.Deadline()
		if !ok {
			break
		}
		now = max(now, at)
		m.Step(now, nil, nil)
	}
	if !m.Over() || now > rmppTotal+time.Minute {
		t.Fatalf("not over at %v", now)
	}
}

// steps is a script of well-formed steps for the fuzzer to start from.
func steps(headers ...RMPPHeader) []byte {
	var b []byte
	for _, h := range headers {
		b = append(b, 1, byte(h.Type), byte(h.Flags), byte(h.Status))
		b = binary.BigEndian.AppendUint16(b, uint16(h.Data1))
		b = binary.BigEndian.AppendUint32(b, h.Data2)
		b = append(b, 1, 0)
	}
	return b
}

func FuzzRMPPReceiver(f *testing.F) {
	f.Add(steps(
		RMPPHeader{Type: RMPPData, Flags: RMPPActive | RMPPFirst, Data1: 1, Data2: 600},
		RMPPHeader{Type: RMPPData, Flags: RMPPActive, Data1: 2},
		RMPPHeader{Type: RMPPData, Flags: RMPPActive | RMPPLast, Data1: 3, Data2: 160},
	))
	f.Add(steps(RMPPHeader{Type: RMPPData, Flags: RMPPActive | RMPPFirst | RMPPLast, Data1: 1, Data2: 20}))
	f.Fuzz(func(t *testing.T, script []byte) {
		r := NewRMPPReceiver(RMPPOptions{})
		received := 0
		fuzzRMPP(t, r, script, func() {
			if received += 200; r.Size() > 2*(received+66*216)+4096 {
				t.Fatalf("holds %d bytes after %d received", r.Size(), received)
			}
		})
		if m := r.Message(); (m == nil) == (r.Err() == nil) {
			t.Fatalf("message of %d bytes and error %v", len(m), r.Err())
		}
	})
}

func FuzzRMPPSender(f *testing.F) {
	f.Add(100, steps(RMPPHeader{Type: RMPPAck, Flags: RMPPActive, Data1: 1, Data2: 5}))
	f.Add(5000, steps(
		RMPPHeader{Type: RMPPAck, Flags: RMPPActive, Data1: 1, Data2: 65},
		RMPPHeader{Type: RMPPAck, Flags: RMPPActive, Data1: 7, Data2: 65},
		RMPPHeader{Type: RMPPAck, Flags: RMPPActive, Data1: 25, Data2: 89},
	))
	f.Fuzz(func(t *testing.T, n int, script []byte) {
		s, err := NewRMPPSender(message(ClassSA, max(0, n)%100_000), RMPPOptions{})
		if err != nil {
			t.Fatal(err)
		}
		fuzzRMPP(t, s, script, func() {})
	})
}

// TestRMPPAbortFirst is a transfer that ends before its first segment.
func TestRMPPAbortFirst(t *testing.T) {
	r := NewRMPPReceiver(RMPPOptions{})
	abort := segment(0, 0, 0, func(h *RMPPHeader) { h.Type, h.Status = RMPPAbort, RMPPUnspecified })
	first := segment(1, RMPPFirst|RMPPLast, 20)
	out := r.Step(0, &first, r.Step(0, &abort, nil))
	if r.Message() != nil || len(out) != 0 {
		t.Errorf("message %v, answered by %v", r.Message(), out)
	}
	if want := "RMPP transfer ended by the peer: unspecified"; r.Err() == nil || r.Err().Error() != want {
		t.Errorf("error %v, want %s", r.Err(), want)
	}
}

// TestRMPPTotal is a peer that takes one segment a time, just before we give up.
func TestRMPPTotal(t *testing.T) {
	s, err := NewRMPPSender(message(ClassSA, 1<<20), RMPPOptions{Timeout: time.Second, Retries: 100, Total: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	var out []Datagram
	now := time.Duration(0)
	for segments := uint32(1); !s.Over(); segments++ {
		ack := segment(segments, 0, segments+1, func(h *RMPPHeader) { h.Type = RMPPAck })
		out = s.Step(now, &ack, s.Step(now, nil, nil))
		now += 900 * time.Millisecond
	}
	if want := "RMPP transfer ended: total time too long"; s.Err() == nil || s.Err().Error() != want || now > 62*time.Second {
		t.Errorf("error %v at %v, want %s", s.Err(), now, want)
	}
	if len(out) != 1 || out[0].RMPP().Status != RMPPTimeTooLong {
		t.Errorf("the peer is told %v", out)
	}
}

func TestUsesRMPP(t *testing.T) {
	active, plain := segment(1, 0, 0), segment(1, 0, 0, func(h *RMPPHeader) { h.Flags = 0 })
	smp := active
	smp[1] = byte(ClassLID)
	if !active.UsesRMPP() || plain.UsesRMPP() || smp.UsesRMPP() {
		t.Errorf("active %v, not active %v, SMP %v", active.UsesRMPP(), plain.UsesRMPP(), smp.UsesRMPP())
	}
}

func TestUnsegmented(t *testing.T) {
	tests := []struct {
		h    RMPPHeader
		want bool
	}{
		{RMPPHeader{Flags: RMPPActive}, true}, // OpenSM 3.3.23 on ibsim 0.10
		{RMPPHeader{Version: 1, Type: RMPPData, Flags: RMPPActive}, true},
		{RMPPHeader{}, false},
		{RMPPHeader{Version: 1, Type: RMPPData, Flags: RMPPActive | RMPPFirst, Data1: 1}, false},
		{RMPPHeader{Version: 1, Type: RMPPData, Flags: RMPPActive, Data1: 2}, false},
		{RMPPHeader{Version: 1, Type: RMPPAck, Flags: RMPPActive}, false},
	}
	for _, test := range tests {
		if got := test.h.Unsegmented(); got != test.want {
			t.Errorf("%+v: %v", test.h, got)
		}
	}
}
