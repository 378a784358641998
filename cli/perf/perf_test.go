package perf

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// simulated is a device of a network of its own.
func simulated(t *testing.T, p sim.Profile) verbs.Device {
	t.Helper()
	n, err := sim.New(sim.Config{Profile: p, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() }) //nolint:errcheck // of a test
	d, err := n.Add(p.Name)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func end(t *testing.T, d verbs.Device) *End {
	t.Helper()
	e, err := Open(d, d.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// between runs a test between two ends, and gives what each says of it.
func between(t *testing.T, first, second *End, s Spec) (r, served Result, err, failed error) {
	t.Helper()
	a, b := net.Pipe()
	la, lb := NewLink(t.Context(), a), NewLink(t.Context(), b)
	done := make(chan error, 1)
	go func() { done <- lb.Serve(second, func(r Result) { served = r }) }()
	r, err = la.Run(first, s)
	la.Close() //nolint:errcheck // of a test
	failed = <-done
	lb.Close() //nolint:errcheck // of a test
	return r, served, err, failed
}

var ops = []verbs.Op{
	verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap,
}

// TestAllOperations checks each message of each operation, of all sizes that
// differ, on each kind of network, where the device can do it.
func TestAllOperations(t *testing.T) {
	for _, p := range sim.Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			d := simulated(t, p)
			e := end(t, d)
			caps := p.Caps()
			for _, service := range []verbs.QPType{verbs.RC, verbs.UC, verbs.UD} {
				for _, op := range ops {
					for _, test := range []Test{Latency, Stream} {
						for _, size := range []int{0, 1, 3, 8, 61, 64, 1000, 4096, 10000} {
							s := Spec{Test: test, Op: op, Service: service, Size: size, Iters: 20, Check: true, Chain: 3}
							filled, err := s.Filled()
							if err == nil {
								err = filled.fits(&caps)
							}
							name := fmt.Sprintf("%v %v %v %d", test, service, op, size)
							checkRun(t, e, name, s, err)
						}
					}
				}
			}
		})
	}
}

// checkRun wants a test to run, or to be refused as expected.
func checkRun(t *testing.T, e *End, name string, s Spec, refused error) {
	t.Helper()
	r, served, err, failed := between(t, e, e, s)
	if refused != nil {
		if err == nil || !errors.Is(refused, verbs.ErrInvalid) && !errors.Is(refused, verbs.ErrNotSupported) {
			t.Errorf("%s: %v, want %v", name, err, refused)
		}
		return
	}
	if err != nil || failed != nil {
		t.Errorf("%s: %v, %v", name, err, failed)
		return
	}
	messages := r.Warmup + r.Iters
	if s.Test == Latency && !s.Op.Reads() {
		messages *= 2
	}
	if r.Checked != messages || served.Checked != messages {
		t.Errorf("%s: %d and %d messages checked, want %d", name, r.Checked, served.Checked, messages)
	}
	if timed := r.Times.Min > 0; timed != (s.Test == Latency) || r.Rate > 0 != (s.Test == Stream) {
		t.Errorf("%s: times %+v, rate %v", name, r.Times, r.Rate)
	}
}

// TestWakes: a message that says when it was sent, to a receiver that sleeps.
func TestWakes(t *testing.T) {
	e := end(t, simulated(t, sim.InOrder()))
	for _, s := range []Spec{
		{Test: Wake, Op: verbs.OpWrite, Iters: 3}, {Test: Wake, Op: verbs.OpSend, Iters: 3}, {Test: Socket, Iters: 3},
	} {
		r, served, err, failed := between(t, e, e, s)
		if err != nil || failed != nil || r.Times != served.Times || r.Times.Median <= 0 || r.Times.Median > 1e7 {
			t.Errorf("%s: %+v and %+v, %v, %v", s.Test, r.Times, served.Times, err, failed)
		}
	}
}

// TestAssume: what the device does not promise the caller may.
func TestAssume(t *testing.T) {
	d := unsure{simulated(t, sim.InOrder())}
	e := end(t, d)
	s := Spec{Op: verbs.OpWrite, Size: 8, Iters: 5, Check: true}
	if _, _, err, failed := between(t, e, e, s); !errors.Is(err, verbs.ErrNotSupported) && !errors.Is(failed, verbs.ErrNotSupported) {
		t.Errorf("polled memory whose order nobody knows: %v, %v", err, failed)
	}
	s.Assume = []verbs.Assumption{verbs.AssumeWriteOrder}
	if r, _, err, _ := between(t, e, e, s); err != nil || r.Checked == 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// unsure is a device that does not know the order of its WRITEs.
type unsure struct{ verbs.Device }

type unsureContext struct{ verbs.Context }

func (d unsure) Open() (verbs.Context, error) {
	c, err := d.Device.Open()
	return unsureContext{c}, err
}

func (c unsureContext) Caps() verbs.Caps {
	caps := c.Context.Caps()
	caps.WriteOrder = verbs.ByteOrder{}
	return caps
}

// TestBadDataIsFound: a device that loses a bit of one message is caught.
func TestBadDataIsFound(t *testing.T) {
	for _, op := range ops {
		d := simulated(t, sim.InOrder())
		first, second := end(t, d), end(t, d)
		s, err := Spec{Op: op, Size: 100, Iters: 20, Check: true}.Filled()
		if err != nil {
			t.Fatal(err)
		}
		taker := second
		if op.Reads() {
			taker = first
		}
		taker.dev = &liar{Context: taker.dev}
		s.Timeout = 5 * time.Second
		_, _, err, failed := between(t, first, second, s)
		if err == nil && failed == nil {
			t.Errorf("%v: nobody saw it", op)
		}
	}
}

// liar is a device that changes what is in memory when something has come.
type liar struct {
	verbs.Context
	mem *verbs.Memory
}

type liarPD struct {
	verbs.PD
	liar *liar
}

func (l *liar) AllocPD() (verbs.PD, error) {
	pd, err := l.Context.AllocPD()
	return liarPD{pd, l}, err
}

func (p liarPD) RegisterMR(m *verbs.Memory, access verbs.Access) (verbs.MR, error) {
	p.liar.mem = m
	return p.PD.RegisterMR(m, access)
}

func (l *liar) CreateCQ(a verbs.CQAttr) (verbs.CQ, error) {
	cq, err := l.Context.CreateCQ(a)
	return &liarCQ{cq, l}, err
}

func (p liarPD) CreateQP(a verbs.QPAttr) (verbs.QP, error) {
	a.SendCQ, a.RecvCQ = a.SendCQ.(*liarCQ).CQ, a.RecvCQ.(*liarCQ).CQ
	return p.PD.CreateQP(a)
}

type liarCQ struct {
	verbs.CQ
	liar *liar
}

func (c *liarCQ) Poll(into []verbs.WC) (int, error) {
	n, err := c.CQ.Poll(into)
	if n > 0 {
		c.liar.spoil()
	}
	return n, err
}

func (l *liar) Await(ctx context.Context, ready func() bool) error {
	err := l.Context.Await(ctx, ready)
	l.spoil()
	return err
}

// spoil changes a bit of each word but the last one of each message.
func (l *liar) spoil() {
	b := l.mem.Bytes()
	for i := 0; i < l.mem.Size(); i += 64 {
		b[i+4] ^= 1
	}
}

// TestAnEndThatGoes: the other one is told at once.
func TestAnEndThatGoes(t *testing.T) {
	e := end(t, simulated(t, sim.InOrder()))
	a, b := net.Pipe()
	l := NewLink(t.Context(), a)
	defer l.Close()
	other := NewLink(t.Context(), b)
	go func() {
		var s request
		other.receive(&s) //nolint:errcheck // only that it came
		other.Close()     //nolint:errcheck // of a test
	}()
	if _, err := l.Run(e, Spec{Op: verbs.OpSend}); !errors.Is(err, errGone) {
		t.Errorf("Run = %v", err)
	}
}

// TestNonsense: whoever connects may say anything.
func TestNonsense(t *testing.T) {
	e := end(t, simulated(t, sim.InOrder()))
	for _, text := range []string{
		"\n", "{}\n", "[]\n", "x\n", `{"Verbs":{"Op":99}}` + "\n", `{"Verbs":{"Op":1,"Size":-1}}` + "\n",
		`{"Verbs":{"Op":3,"Iters":2000000000}}` + "\n", `{"Verbs":{"Op":1,"Service":9}}` + "\n", `{"Verbs":{"Test":"sleep"}}` + "\n",
		`{"Verbs":{"Op":1,"Depth":100000}}` + "\n", `{"Verbs":{"Op":1,"Timeout":1}}` + "\n",
		`{"Channel":{"Via":"x","Size":8}}` + "\n", `{"Channel":{"Via":"send","Size":8,"Ends":-1}}` + "\n",
		`{"Verbs":{"Op":1}}` + "\n" + `{"Endpoint":"AAAA"}` + "\n", `{"Channel":{"Via":"send","Size":8}}` + "\n[]\n",
	} {
		a, b := net.Pipe()
		done := make(chan error, 1)
		l := NewLink(t.Context(), b)
		go func() { done <- l.Serve(e, func(r Result) { t.Errorf("%q gives %+v", text, r) }) }()
		client := NewLink(t.Context(), a)
		if _, err := a.Write([]byte(text)); err != nil {
			t.Error(err)
		}
		if err := <-done; err == nil {
			t.Errorf("%q is taken", text)
		}
		l.Close()      //nolint:errcheck // of a test
		client.Close() //nolint:errcheck // of a test
	}
}

func TestFilled(t *testing.T) {
	s, err := Spec{Op: verbs.OpFetchAdd, Size: 100, Batch: 16, Iters: 100}.Filled()
	if err != nil || s.Size != 8 || s.Iters != 112 || s.Warmup != 10 || s.Service != verbs.RC {
		t.Errorf("%+v, %v", s, err)
	}
	for _, s := range []Spec{
		{Op: verbs.OpWrite},
		{Op: verbs.OpBind},
		{Op: verbs.OpRead, Test: Wake},
		{Op: verbs.OpSend, Test: Stream, Service: verbs.UD},
		{Op: verbs.OpSend, Size: math.MaxInt},
	} {
		if got, err := s.Filled(); !errors.Is(err, verbs.ErrInvalid) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

func TestTimes(t *testing.T) {
	got := timesOf([]float64{5e3, 1e3, 3e3, 2e3, 4e3})
	if want := (Times{1, 3, 5, 5, 3}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := timesOf(nil); got != (Times{}) {
		t.Errorf("%+v", got)
	}
}

// TestSlotsDoNotOverlap lays areas out, and looks where messages are.
func TestSlotsDoNotOverlap(t *testing.T) {
	for _, test := range []Test{Latency, Stream} {
		for _, service := range []verbs.QPType{verbs.RC, verbs.UD} {
			for size := range 300 {
				a := shape(&Spec{Test: test, Service: service, Size: size, Depth: 4})
				end := 0
				for i := range 2 * a.slots {
					at := a.out(i)
					if i >= a.slots {
						at = a.in(i - a.slots)
					}
					front := 0
					if service == verbs.UD {
						front = verbs.GRHSize
					}
					if at-front < end || (at+size)%8 != 0 || size > 0 && at+size < 8 {
						t.Fatalf("%s %v %d: slot %d is at %d, after %d", test, service, size, i, at, end)
					}
					end = at + size
				}
				if a.counted() < end || a.counter() < a.counted()+8 || a.all() < a.counter()+8 {
					t.Fatalf("%s %d: counters at %d and %d of %d", test, size, a.counted(), a.counter(), a.all())
				}
			}
		}
	}
}

func TestPatternDiffers(t *testing.T) {
	seen := map[string]bool{}
	for number := range uint64(100) {
		var b strings.Builder
		for i := range 16 {
			b.WriteByte(pattern(number, i))
		}
		for _, word := range []string{b.String()[:8], b.String()[8:]} {
			if seen[word] {
				t.Fatalf("word %x of message %d was there before", word, number)
			}
			seen[word] = true
		}
	}
}
