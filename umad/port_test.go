package umad_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

var (
	_ umad.Device = (*umadtest.Device)(nil)

	agent = umad.Agent{Class: mad.ClassPerf, Version: 1, Methods: []mad.Method{mad.MethodGet, mad.MethodSet}}
)

// request is a Get of port counters, unless h says more.
func request(change ...func(h *mad.Header)) *umad.Message {
	h := mad.Header{Class: mad.ClassPerf, ClassVersion: 1, Method: mad.MethodGet, TID: 77, Attr: mad.AttrPortCounters, Modifier: 5}
	for _, f := range change {
		f(&h)
	}
	var d mad.Datagram
	d.SetHeader(h)
	if h.Class == mad.ClassDirected {
		_ = d.SetPath([]uint8{1})
	}
	return &umad.Message{Address: umad.ToLID(2), Data: d[:]}
}

// ports is a client and a server on a pair; the server answers every Get and
// Set by echoing it after the change.
type ports struct {
	client, server *umad.Port
	near, far      *umadtest.Device
}

func open(t *testing.T, o umadtest.Options, change ...func(m *umad.Message)) ports {
	t.Helper()
	near, far := umadtest.Pair(o)
	p := ports{umad.NewPort(near), umad.NewPort(far), near, far}
	err := p.server.Handle(agent, func(m *umad.Message) {
		if err := m.Reply(mad.StatusOK); err != nil {
			t.Error(err)
		}
		for _, f := range change {
			f(m)
		}
		if err := p.server.Send(m); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// close is not left to t.Cleanup, which runs outside of the bubble's last wait.
func (p ports) close(t *testing.T) {
	t.Helper()
	if err := errors.Join(p.client.Close(), p.server.Close()); err != nil {
		t.Error(err)
	}
}

func inBubble(t *testing.T, o umadtest.Options, test func(t *testing.T, p ports)) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, o)
		defer p.close(t)
		test(t, p)
	})
}

func TestCall(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
		req := request()
		start := time.Now()
		answer, err := p.client.Call(t.Context(), req, umad.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d := answer.Datagram()
		want := mad.Header{Class: mad.ClassPerf, ClassVersion: 1, Method: mad.MethodGetResp, TID: d.TID(), Attr: mad.AttrPortCounters, Modifier: 5}
		if diff := cmp.Diff(want, d.Header()); diff != "" {
			t.Errorf("answer (-want +got):\n%s", diff)
		}
		if tid := d.TID(); tid == 77 || uint32(tid) == 0 {
			t.Errorf("answer has the ID %#x, want one of the port's", tid)
		}
		if tid := req.Datagram().TID(); tid != 77 {
			t.Errorf("the request's ID became %#x", tid)
		}
		if answer.LID != 2 || time.Since(start) != 2*time.Millisecond {
			t.Errorf("answer of LID %s after %v", answer.LID, time.Since(start))
		}
		want2 := umad.Stats{Requests: 1, Answers: 1}
		if diff := cmp.Diff(want2, p.client.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

// TestResend loses the first tries of a request.
func TestResend(t *testing.T) {
	tests := []struct {
		lost    int
		options umad.CallOptions
		after   time.Duration
		err     error
	}{
		{0, umad.CallOptions{}, 0, nil},
		{1, umad.CallOptions{}, 200 * time.Millisecond, nil},
		{3, umad.CallOptions{}, 600 * time.Millisecond, nil},
		{4, umad.CallOptions{}, 800 * time.Millisecond, umad.ErrTimeout},
		{1, umad.CallOptions{Timeout: time.Second, Retries: 1}, time.Second, nil},
		{2, umad.CallOptions{Timeout: time.Second, Retries: 1}, 2 * time.Second, umad.ErrTimeout},
		{1, umad.CallOptions{Timeout: time.Second, Retries: umad.NoRetries}, time.Second, umad.ErrTimeout},
	}
	for _, timers := range []bool{false, true} {
		for _, test := range tests {
			t.Run(fmt.Sprintf("timers=%v/lost=%d/%+v", timers, test.lost, test.options), func(t *testing.T) {
				var ids []uint64
				o := umadtest.Options{Features: umad.Features{Timers: timers}, Drop: func(_ *umadtest.Device, m *umad.Message) bool {
					if m.Datagram().IsResponse() {
						return false
					}
					ids = append(ids, m.Datagram().TID())
					return len(ids) <= test.lost
				}}
				inBubble(t, o, func(t *testing.T, p ports) {
					start := time.Now()
					answer, err := p.client.Call(t.Context(), request(), test.options)
					if !errors.Is(err, test.err) || (err == nil) != (answer != nil) {
						t.Errorf("answer %v, error %v, want %v", answer, err, test.err)
					}
					if took := time.Since(start); took != test.after {
						t.Errorf("after %v, want %v", took, test.after)
					}
					for _, id := range ids {
						if id != ids[0] {
							t.Errorf("tries with the IDs %x", ids)
						}
					}
					if got := p.client.Stats().Resent; got != uint64(len(ids)-1) {
						t.Errorf("%d resent, want %d", got, len(ids)-1)
					}
				})
			})
		}
	}
}

// TestReturnedEarly is a device without timers that knows at once that there
// will be no answer, as ibsim does.
func TestReturnedEarly(t *testing.T) {
	o := umadtest.Options{Drop: func(from *umadtest.Device, m *umad.Message) bool {
		back := m.Clone()
		back.Err = umad.ErrTimeout
		back.Data = back.Data[:24]
		from.Inject(back)
		return true
	}}
	inBubble(t, o, func(t *testing.T, p ports) {
		start := time.Now()
		_, err := p.client.Call(t.Context(), request(), umad.CallOptions{})
		if !errors.Is(err, umad.ErrTimeout) || time.Since(start) != 0 {
			t.Errorf("error %v after %v, want ErrTimeout at once", err, time.Since(start))
		}
		if got := p.client.Stats(); got.Resent != 3 || got.Timeouts != 1 {
			t.Errorf("stats %+v", got)
		}
	})
}

// TestIgnored are answers that are none; the request stays outstanding.
func TestIgnored(t *testing.T) {
	tests := []struct {
		name   string
		change func(d *mad.Datagram)
		want   umad.Stats
	}{
		{"another ID", func(d *mad.Datagram) { d.SetTID(d.TID() + 1) }, umad.Stats{Stray: 1}},
		{"another class", func(d *mad.Datagram) { d[1] = byte(mad.ClassCC) }, umad.Stats{Mismatched: 1}},
		{"another attribute", func(d *mad.Datagram) { d[17]++ }, umad.Stats{Mismatched: 1}},
		{"another method", func(d *mad.Datagram) { d.SetMethod(mad.MethodReportResp) }, umad.Stats{Mismatched: 1}},
		{"base version", func(d *mad.Datagram) { d[0] = 2 }, umad.Stats{Malformed: 1}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
				_ = p.near.Register(umad.Agent{Class: mad.ClassCC, Version: 1})
				done := 0
				p.startAndForge(t, test.change, func(m *umad.Message, err error) {
					if done++; err != nil {
						t.Error(err)
					}
				})
				test.want.Requests, test.want.Answers = 1, 1
				if diff := cmp.Diff(test.want, p.client.Stats()); diff != "" || done != 1 {
					t.Errorf("done %d times, stats (-want +got):\n%s", done, diff)
				}
			})
		})
	}
}

// startAndForge starts a request, of which a forged answer comes before the
// true one.
func (p ports) startAndForge(t *testing.T, change func(d *mad.Datagram), done func(*umad.Message, error)) {
	t.Helper()
	if err := p.client.Start(request(), umad.CallOptions{}, done); err != nil {
		t.Fatal(err)
	}
	forged := p.near.Last()
	if err := forged.Reply(mad.StatusOK); err != nil {
		t.Fatal(err)
	}
	change(forged.Datagram())
	p.near.Inject(forged)
	time.Sleep(2 * time.Millisecond)
	synctest.Wait()
}

// TestMismatchedOnly is a device with timers that takes a wrong answer for the
// right one, and so does not tell of the request any more.
func TestMismatchedOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, umadtest.Options{Features: umad.Features{Timers: true}}, func(m *umad.Message) { m.Data[17]++ })
		defer p.close(t)
		start := time.Now()
		if _, err := p.client.Call(t.Context(), request(), umad.CallOptions{}); !errors.Is(err, umad.ErrTimeout) {
			t.Errorf("error %v, want ErrTimeout", err)
		}
		if took := time.Since(start); took != 800*time.Millisecond || p.client.Stats().Mismatched != 4 {
			t.Errorf("after %v, stats %+v", took, p.client.Stats())
		}
	})
}

// TestDeviceForgets is a device with timers that does not tell of a request any
// more, as the kernel does where a send fails below it.
func TestDeviceForgets(t *testing.T) {
	for _, rmpp := range []bool{false, true} {
		o := umadtest.Options{Loss: 1, Forgets: true, Features: umad.Features{Timers: true, RMPP: rmpp}}
		inBubble(t, o, func(t *testing.T, p ports) {
			start := time.Now()
			if _, err := p.client.Call(t.Context(), request(), umad.CallOptions{Retries: 1}); !errors.Is(err, umad.ErrTimeout) {
				t.Errorf("error %v, want ErrTimeout", err)
			}
			want := 2 * (200*time.Millisecond + time.Second)
			if rmpp {
				want += 2 * time.Minute
			}
			if took := time.Since(start); took != want {
				t.Errorf("RMPP by the device %v: gave up after %v, want %v", rmpp, took, want)
			}
		})
	}
}

func TestDirectedAnswerComesBack(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
		smp := umad.Agent{Class: mad.ClassDirected, Version: 1, Methods: []mad.Method{mad.MethodGet}}
		replies := 0
		err := p.server.Handle(smp, func(m *umad.Message) {
			_ = m.Reply(mad.StatusOK)
			if replies++; replies == 1 {
				m.Datagram().SetReturning(false)
			}
			_ = p.server.Send(m)
		})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.client.Call(t.Context(), request(func(h *mad.Header) { h.Class = mad.ClassDirected }), umad.CallOptions{})
		if err != nil || replies != 2 || p.client.Stats().Mismatched != 1 {
			t.Errorf("error %v, %d replies, stats %+v", err, replies, p.client.Stats())
		}
	})
}

func TestLateAndDuplicateAnswersAreStray(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: 300 * time.Millisecond}, func(t *testing.T, p ports) {
		// Each of two tries is answered after 600 ms.
		_, err := p.client.Call(t.Context(), request(), umad.CallOptions{Retries: 1})
		if !errors.Is(err, umad.ErrTimeout) {
			t.Errorf("error %v, want ErrTimeout", err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want := umad.Stats{Requests: 1, Resent: 1, Timeouts: 1, Stray: 2}
		if diff := cmp.Diff(want, p.client.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestCancel(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: 50 * time.Millisecond}, func(t *testing.T, p ports) {
		reason := errors.New("changed my mind")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 10*time.Millisecond, reason)
		defer cancel()
		start := time.Now()
		if _, err := p.client.Call(ctx, request(), umad.CallOptions{}); !errors.Is(err, reason) {
			t.Errorf("error %v, want %v", err, reason)
		}
		if took := time.Since(start); took != 10*time.Millisecond {
			t.Errorf("the caller was free after %v", took)
		}
		if _, err := p.client.Call(ctx, request(), umad.CallOptions{}); !errors.Is(err, reason) {
			t.Errorf("error of a call with an ended context: %v, want %v", err, reason)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want := umad.Stats{Requests: 1, Cancelled: 1, Stray: 1}
		if diff := cmp.Diff(want, p.client.Stats()); diff != "" {
			t.Errorf("stats (-want +got):\n%s", diff)
		}
	})
}

func TestCloseEndsWhatIsOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open(t, umadtest.Options{Loss: 1})
		ended := 0
		for range 100 {
			err := p.client.Start(request(), umad.CallOptions{}, func(m *umad.Message, err error) {
				if ended++; m != nil || !errors.Is(err, net.ErrClosed) {
					t.Errorf("answer %v, error %v", m, err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { p.close(t) })
		}
		all.Wait()
		if ended != 100 {
			t.Errorf("%d requests ended, want 100", ended)
		}
		err := p.client.Start(request(), umad.CallOptions{}, func(*umad.Message, error) { t.Error("done after Close") })
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("Start after Close: %v", err)
		}
	})
}

func TestDeviceDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, _ := umadtest.Pair(umadtest.Options{})
		device := &dyingDevice{near, make(chan error)}
		port := umad.NewPort(device)
		ended := make(chan error, 1)
		err := port.Start(request(), umad.CallOptions{}, func(_ *umad.Message, err error) { ended <- err })
		if err != nil {
			t.Fatal(err)
		}
		device.death <- io.ErrUnexpectedEOF
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("outstanding request ended with %v", err)
		}
		if _, err := port.Call(t.Context(), request(), umad.CallOptions{}); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("call on a dead device: %v", err)
		}
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
}

// dyingDevice receives an error.
type dyingDevice struct {
	*umadtest.Device
	death chan error
}

func (d *dyingDevice) Receive(*umad.Message) error { return <-d.death }

func TestSendRefused(t *testing.T) {
	refused := errors.New("refused")
	sends, refuse := 0, 1
	o := umadtest.Options{Loss: 1, Refuse: func(*umad.Message) error {
		if sends++; sends == refuse {
			return refused
		}
		return nil
	}}
	inBubble(t, o, func(t *testing.T, p ports) {
		err := p.client.Start(request(), umad.CallOptions{}, func(*umad.Message, error) { t.Error("done of a request that was not sent") })
		if !errors.Is(err, refused) {
			t.Errorf("Start: %v", err)
		}
		refuse = 3
		if _, err := p.client.Call(t.Context(), request(), umad.CallOptions{}); !errors.Is(err, refused) {
			t.Errorf("Call: %v", err)
		}
	})
}

func TestNotSent(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		short := &umad.Message{Data: make([]byte, 23)}
		if _, err := p.client.Call(t.Context(), short, umad.CallOptions{}); !errors.Is(err, mad.ErrShort) {
			t.Errorf("Call with 23 bytes: %v", err)
		}
		if err := p.client.Send(short); !errors.Is(err, mad.ErrShort) {
			t.Errorf("Send of 23 bytes: %v", err)
		}
		unanswered := request(func(h *mad.Header) { h.Method = mad.MethodSend })
		if _, err := p.client.Call(t.Context(), unanswered, umad.CallOptions{}); err == nil {
			t.Error("Call with a method that nothing answers succeeds")
		}
		if n := p.near.Sent(); n != 0 {
			t.Errorf("%d datagrams were sent", n)
		}
	})
}

// TestWindow keeps 1,000 requests moving over a bad link.
func TestWindow(t *testing.T) {
	o := umadtest.Options{Seed: 1, Loss: 0.1, Duplicate: 0.1, Delay: time.Millisecond, Jitter: time.Millisecond}
	for _, timers := range []bool{false, true} {
		o.Features.Timers = timers
		inBubble(t, o, func(t *testing.T, p ports) {
			const window, total = 1000, 5000
			started, answered, timedOut := 0, 0, 0
			var start func()
			done := func(_ *umad.Message, err error) {
				switch {
				case errors.Is(err, umad.ErrTimeout):
					timedOut++
				case err != nil:
					t.Error(err)
				default:
					answered++
				}
				start()
			}
			start = func() {
				if started == total {
					return
				}
				started++
				if err := p.client.Start(request(), umad.CallOptions{}, done); err != nil {
					t.Error(err)
				}
			}
			for range window {
				start()
			}
			time.Sleep(time.Minute)
			synctest.Wait()
			stats := p.client.Stats()
			if answered+timedOut != total || stats.Answers != uint64(answered) || stats.Timeouts != uint64(timedOut) || answered < 0.98*total {
				t.Errorf("%d answered, %d timed out, stats %+v", answered, timedOut, stats)
			}
		})
	}
}

// TestGlobalRoute keeps the route that Start was given for its resends.
func TestGlobalRoute(t *testing.T) {
	var routes []umad.GRH
	o := umadtest.Options{Drop: func(_ *umadtest.Device, m *umad.Message) bool {
		if m.Datagram().IsResponse() {
			return false
		}
		routes = append(routes, *m.GRH)
		return len(routes) < 3
	}}
	inBubble(t, o, func(t *testing.T, p ports) {
		route := umad.GRH{GID: ib.MustParseGID("fe80::1"), HopLimit: 5}
		want := route
		req := request()
		req.GRH = &route
		var answer *umad.Message
		err := p.client.Start(req, umad.CallOptions{}, func(m *umad.Message, err error) {
			if err != nil {
				t.Error(err)
				return
			}
			answer = m.Clone()
		})
		if err != nil {
			t.Fatal(err)
		}
		route.HopLimit = 9
		time.Sleep(time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]umad.GRH{want, want, want}, routes); diff != "" {
			t.Errorf("routes of the tries (-want +got):\n%s", diff)
		}
		if answer == nil || answer.GRH == nil || answer.String() != "fe80::1" {
			t.Errorf("answer %v", answer)
		}
	})
}

func TestAddressString(t *testing.T) {
	for want, a := range map[string]umad.Address{"LID 7": umad.ToLID(7), "LID 8": umad.ToSMA(8), "directed route": umad.ByRoute()} {
		if got := a.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
