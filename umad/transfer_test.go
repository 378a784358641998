package umad_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// long is a message of a class with n bytes behind its headers, to be sent by
// RMPP where active.
func long(class mad.Class, method mad.Method, n int, active bool) *umad.Message {
	offset, _ := mad.RMPPOffset(class)
	data := make([]byte, offset+n)
	copy(data, mad.Header{Class: class, ClassVersion: 2, Method: method, Attr: mad.AttrMultiPathRecord}.AppendTo(nil))
	if active {
		copy(data[24:], mad.RMPPHeader{Version: mad.RMPPVersion, Type: mad.RMPPData, Flags: mad.RMPPActive}.AppendTo(nil))
	}
	random := rand.New(rand.NewPCG(uint64(n), 3))
	for i := offset; i < len(data); i++ {
		data[i] = byte(random.Uint32())
	}
	return &umad.Message{Address: umad.ToLID(2), Data: data}
}

// serve has the server of a pair answer each request of a class with n bytes,
// after it looked at it.
func (p ports) serve(t *testing.T, class mad.Class, n int, look func(m *umad.Message)) {
	t.Helper()
	a := umad.Agent{Class: class, Version: 2, RMPP: true, Methods: []mad.Method{mad.MethodGetTable, mad.MethodGetMulti}}
	err := p.server.Handle(a, func(m *umad.Message) {
		look(m)
		answer := long(class, 0, n, true)
		h := m.Datagram().Header()
		h.Method, _ = h.Method.Response()
		if h.Attr == mad.AttrMultiPathRecord && class == mad.ClassSA && h.Method == mad.MethodGetMultiResp {
			h.Attr = mad.AttrPathRecord
		}
		copy(answer.Data, h.AppendTo(nil))
		answer.Address = m.Address
		if err := p.server.Send(answer); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTransfer asks by a datagram and by RMPP, and is answered by RMPP, over
// bad links.
func TestTransfer(t *testing.T) {
	links := []umadtest.Options{
		{},
		{Delay: time.Millisecond},
		{Delay: time.Millisecond, Features: umad.Features{Timers: true}},
		{Seed: 1, Loss: 0.2, Duplicate: 0.1, Delay: time.Millisecond, Jitter: time.Millisecond},
		{Seed: 2, Loss: 0.2, Duplicate: 0.1, Delay: time.Millisecond, Jitter: time.Millisecond, Features: umad.Features{Timers: true}},
	}
	tests := []struct {
		class   mad.Class
		request int // bytes by RMPP, 0 for a datagram
		answer  int
	}{
		{mad.ClassSA, 0, 0},
		{mad.ClassSA, 0, 120},
		{mad.ClassSA, 0, 50_000},
		{mad.ClassSA, 64, 120},
		{mad.ClassSA, 3000, 50_000},
		{mad.ClassVendor2, 0, 50_000},
		{mad.ClassVendor2, 3000, 10},
	}
	for _, o := range links {
		for _, test := range tests {
			name := fmt.Sprintf("loss=%v/timers=%v/%s/%d-%d", o.Loss, o.Features.Timers, test.class, test.request, test.answer)
			t.Run(name, func(t *testing.T) {
				inBubble(t, o, func(t *testing.T, p ports) {
					offset, _ := mad.RMPPOffset(test.class)
					req := long(test.class, mad.MethodGetMulti, test.request, true)
					if test.request == 0 {
						req = long(test.class, mad.MethodGetTable, mad.Size-offset, false)
					}
					p.serve(t, test.class, test.answer, func(m *umad.Message) {
						if !bytes.Equal(m.Data[offset:], req.Data[offset:]) {
							t.Errorf("the server is asked %d bytes, want %d", len(m.Data), len(req.Data))
						}
					})
					m, err := p.client.Call(t.Context(), req, umad.CallOptions{Retries: 10})
					if err != nil {
						t.Fatal(err)
					}
					want := long(test.class, 0, test.answer, true)
					if !bytes.Equal(m.Data[offset:], want.Data[offset:]) || m.LID != 2 {
						t.Errorf("%d bytes came from LID %s, want %d", len(m.Data), m.LID, len(want.Data))
					}
				})
			})
		}
	}
}

// TestManyTransfers runs 100 at once.
func TestManyTransfers(t *testing.T) {
	o := umadtest.Options{Seed: 3, Loss: 0.1, Delay: time.Millisecond, Jitter: time.Millisecond}
	inBubble(t, o, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 5000, func(*umad.Message) {})
		want, came := long(mad.ClassSA, 0, 5000, true), 0
		for range 100 {
			req := long(mad.ClassSA, mad.MethodGetTable, 200, false)
			err := p.client.Start(req, umad.CallOptions{Retries: 10}, func(m *umad.Message, err error) {
				if came++; err != nil || !bytes.Equal(m.Data[56:], want.Data[56:]) {
					t.Errorf("error %v, or other bytes", err)
				}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if came != 100 {
			t.Errorf("%d answers, want 100", came)
		}
		if got := p.client.Stats(); got.Answers != 100 || got.TransferErrors != 0 {
			t.Errorf("stats of the client %+v", got)
		}
	})
}

// TestRequestRepeatedDuringItsAnswer is handled once.
func TestRequestRepeatedDuringItsAnswer(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
		asked := 0
		p.serve(t, mad.ClassSA, 50_000, func(m *umad.Message) {
			if asked++; asked == 1 {
				p.far.Inject(m)
			}
		})
		if _, err := p.client.Call(t.Context(), long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{}); err != nil {
			t.Error(err)
		}
		if got := p.server.Stats(); asked != 1 || got.Duplicates != 1 || got.Transfers != 1 {
			t.Errorf("handled %d times, stats %+v", asked, got)
		}
	})
}

// TestDeafPeer is asked by a program that takes the first datagram of the answer
// and acknowledges nothing.
func TestDeafPeer(t *testing.T) {
	for _, deaf := range []bool{false, true} {
		o := umadtest.Options{Delay: time.Millisecond, Features: umad.Features{Deaf: deaf}}
		o.Drop = func(_ *umadtest.Device, m *umad.Message) bool { return m.Datagram().RMPP().Type == mad.RMPPAck }
		inBubble(t, o, func(t *testing.T, p ports) {
			p.serve(t, mad.ClassSA, 50_000, func(*umad.Message) {})
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if _, err := p.client.Call(ctx, long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{}); err == nil {
				t.Error("an answer came, want none")
			}
			if sent := p.far.Sent(); (sent == 1) != deaf {
				t.Errorf("deaf %v: %d datagrams sent", deaf, sent)
			}
		})
	}
}

// TestCancelledTransfer tells the server to stop.
func TestCancelledTransfer(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 1<<20, func(*umad.Message) {})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if _, err := p.client.Call(ctx, long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
		time.Sleep(5 * time.Millisecond)
		synctest.Wait()
		sent := p.far.Sent()
		time.Sleep(time.Minute)
		if got := p.server.Stats(); got.TransferErrors != 1 || p.far.Sent() != sent {
			t.Errorf("stats %+v, %d datagrams after the end", got, p.far.Sent()-sent)
		}
	})
}

// TestTransferBreaks loses everything in the middle.
func TestTransferBreaks(t *testing.T) {
	tests := []struct {
		name     string
		lost     func(h mad.RMPPHeader) bool
		after    time.Duration
		status   mad.RMPPStatus
		byServer bool
	}{
		{"segments", func(h mad.RMPPHeader) bool { return h.Type == mad.RMPPData && h.Data1 >= 40 || h.Type == mad.RMPPAbort }, 10 * time.Second, mad.RMPPTimeTooLong, false},
		{"ACKs", func(h mad.RMPPHeader) bool { return h.Type == mad.RMPPAck && h.Data1 >= 40 }, 3200 * time.Millisecond, mad.RMPPTooManyRetries, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := umadtest.Options{Drop: func(_ *umadtest.Device, m *umad.Message) bool { return test.lost(m.Datagram().RMPP()) }}
			inBubble(t, o, func(t *testing.T, p ports) {
				p.serve(t, mad.ClassSA, 1<<20, func(*umad.Message) {})
				start := time.Now()
				_, err := p.client.Call(t.Context(), long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{})
				var typed *mad.RMPPError
				if !errors.As(err, &typed) || typed.Status != test.status || typed.ByPeer != test.byServer {
					t.Errorf("error %v, want %v", err, test.status)
				}
				if took := time.Since(start); took != test.after {
					t.Errorf("after %v, want %v", took, test.after)
				}
			})
		})
	}
}

// TestAnswerTooLong is refused as soon as it is announced.
func TestAnswerTooLong(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 5000, func(*umad.Message) {})
		req := long(mad.ClassSA, mad.MethodGetTable, 200, false)
		_, err := p.client.Call(t.Context(), req, umad.CallOptions{MaxBytes: 4000})
		var typed *mad.RMPPError
		if !errors.As(err, &typed) || typed.Status != mad.RMPPResources || typed.ByPeer {
			t.Errorf("error %v", err)
		}
	})
}

// TestUnsegmented is an answer of somebody who leaves RMPP to a device that
// does none: it is taken as it is, at once.
func TestUnsegmented(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		a := umad.Agent{Class: mad.ClassSA, Version: 2, RMPP: true, Methods: []mad.Method{mad.MethodGetTable}}
		err := p.server.Handle(a, func(m *umad.Message) {
			_ = m.Reply(mad.StatusOK)
			m.Datagram().SetRMPP(mad.RMPPHeader{Flags: mad.RMPPActive})
			_ = p.far.Send(m, 0)
		})
		if err != nil {
			t.Fatal(err)
		}
		m, err := p.client.Call(t.Context(), long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{})
		if err != nil || len(m.Data) != mad.Size || !m.Datagram().RMPP().Unsegmented() {
			t.Errorf("answer %v, error %v", m, err)
		}
	})
}

// TestTransferRefused are long requests that nobody takes.
func TestTransferRefused(t *testing.T) {
	call := func(t *testing.T, p ports) mad.Status {
		t.Helper()
		m, err := p.client.Call(t.Context(), long(mad.ClassSA, mad.MethodGetMulti, 500, true), umad.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return m.Datagram().Status()
	}
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		_ = p.far.Register(umad.Agent{Class: mad.ClassSA, Version: 2})
		if got := call(t, p); got != mad.StatusBadVersion {
			t.Errorf("class without a handler: status %s", got)
		}
		p.serve(t, mad.ClassSA, 10, func(*umad.Message) {})
		// Strangers begin requests, and send no more of them.
		begin := func(i int, from ib.LID) {
			first := long(mad.ClassSA, mad.MethodGetMulti, 200, false)
			first.LID = from
			first.Datagram().SetTID(uint64(i))
			first.Datagram().SetRMPP(mad.RMPPHeader{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1})
			p.far.Inject(first)
		}
		for i := range 64 {
			begin(i, 100)
		}
		if got := call(t, p); got != mad.StatusOK {
			t.Errorf("with 64 requests begun by one peer: status %s", got)
		}
		for i := range 64 {
			begin(i, ib.LID(100+i/8))
		}
		if got := call(t, p); got != mad.StatusBusy {
			t.Errorf("with 64 requests begun: status %s", got)
		}
		time.Sleep(11 * time.Second)
		if got := call(t, p); got != mad.StatusOK {
			t.Errorf("after they ended: status %s", got)
		}
	})
}

// TestStraySegments belong to nothing.
func TestStraySegments(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 10, func(*umad.Message) { t.Error("handled") })
		strays := uint64(0)
		for _, method := range []mad.Method{mad.MethodGetMulti, mad.MethodGetMultiResp, mad.MethodGetTable, mad.MethodGetTableResp} {
			for kind := range mad.RMPPType(7) {
				stray := long(mad.ClassSA, method, 200, false)
				stray.Datagram().SetRMPP(mad.RMPPHeader{Version: 1, Type: kind, Flags: mad.RMPPActive, Data1: 2})
				p.far.Inject(stray)
				strays++
			}
		}
		synctest.Wait()
		if got := p.server.Stats(); got.Stray != strays || got.Transfers != 0 || p.far.Sent() != 0 {
			t.Errorf("stats %+v, %d datagrams sent", got, p.far.Sent())
		}
	})
}

// TestCloseDuringTransfers ends what is outstanding.
func TestCloseDuringTransfers(t *testing.T) {
	inBubble(t, umadtest.Options{Delay: time.Millisecond}, func(t *testing.T, p ports) {
		p.serve(t, mad.ClassSA, 1<<20, func(*umad.Message) {})
		ended := 0
		for range 10 {
			err := p.client.Start(long(mad.ClassSA, mad.MethodGetTable, 200, false), umad.CallOptions{}, func(*umad.Message, error) { ended++ })
			if err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Millisecond)
		if err := p.client.Close(); err != nil || ended != 10 {
			t.Errorf("error %v, %d of 10 ended", err, ended)
		}
	})
}
