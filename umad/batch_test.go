package umad_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// several is a device that sends several datagrams at once.
type several struct {
	*umadtest.Device
	calls  []int // how many datagrams each call had
	refuse error
}

func (s *several) SendAll(list ...*umad.Message) error {
	s.calls = append(s.calls, len(list))
	if s.refuse != nil {
		return s.refuse
	}
	for _, m := range list {
		if err := s.Send(m, 0); err != nil {
			return err
		}
	}
	return nil
}

// batched is a client whose device sends several at once, and a server that
// echoes.
func batched(t *testing.T, test func(t *testing.T, dev *several, client *umad.Port)) {
	synctest.Test(t, func(t *testing.T) {
		near, far := umadtest.Pair(umadtest.Options{})
		dev := &several{Device: near}
		client, server := umad.NewPort(dev), umad.NewPort(far)
		err := server.Handle(agent, func(m *umad.Message) {
			if err := errors.Join(m.Reply(mad.StatusOK), server.Send(m)); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		test(t, dev, client)
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestBatch: nothing is sent before Flush, unless there is much of it; then
// each request is answered.
func TestBatch(t *testing.T) {
	batched(t, func(t *testing.T, dev *several, client *umad.Port) {
		b := client.Batch()
		answered := 0
		done := func(_ *umad.Message, err error) {
			if err != nil {
				t.Error(err)
			}
			answered++
		}
		start := func(n int) {
			for range n {
				if err := b.Start(request(), umad.CallOptions{}, done); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		if start(20); answered != 0 || len(dev.calls) != 0 {
			t.Errorf("%d answers before Flush, calls %v", answered, dev.calls)
		}
		if start(20); answered != 32 {
			t.Errorf("%d answers, want those of 32 requests", answered)
		}
		for range 2 {
			if err := b.Flush(); err != nil {
				t.Error(err)
			}
		}
		if synctest.Wait(); answered != 40 || len(dev.calls) != 2 || dev.calls[1] != 8 {
			t.Errorf("%d answers, calls %v, want 40 with 32 and 8", answered, dev.calls)
		}
		if s := client.Stats(); s != (umad.Stats{Requests: 40, Answers: 40}) {
			t.Errorf("stats %+v", s)
		}
	})
}

// TestBatchRefused: what the device refuses ends its requests, once each, and
// those that come later are none of it.
func TestBatchRefused(t *testing.T) {
	batched(t, func(t *testing.T, dev *several, client *umad.Port) {
		dev.refuse = errors.New("no")
		b := client.Batch()
		var failed, good int
		done := func(_ *umad.Message, err error) {
			if errors.Is(err, dev.refuse) && dev.refuse != nil {
				failed++
			} else if err == nil {
				good++
			}
		}
		for range 3 {
			if err := b.Start(request(), umad.CallOptions{}, done); err != nil {
				t.Fatal(err)
			}
		}
		m := request()
		if err := errors.Join(m.Reply(mad.StatusOK), b.Send(m)); err != nil {
			t.Error(err)
		}
		if err := b.Flush(); !errors.Is(err, dev.refuse) || failed != 3 {
			t.Errorf("flush: %v, %d of 3 failed", err, failed)
		}
		dev.refuse = nil
		if err := errors.Join(b.Start(request(), umad.CallOptions{}, done), b.Flush()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		if synctest.Wait(); failed != 3 || good != 1 {
			t.Errorf("%d failed, %d were answered, want 3 and 1", failed, good)
		}
	})
}

// TestBatchOfAnyDevice sends at once where the device can do no more.
func TestBatchOfAnyDevice(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		b := p.client.Batch()
		answered := 0
		err := b.Start(request(), umad.CallOptions{}, func(_ *umad.Message, err error) {
			if err == nil {
				answered++
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		if synctest.Wait(); answered != 1 {
			t.Error("no answer")
		}
		if err := b.Flush(); err != nil {
			t.Error(err)
		}
		if err := b.Start(&umad.Message{Data: make([]byte, 3)}, umad.CallOptions{}, nil); !errors.Is(err, mad.ErrShort) {
			t.Errorf("start of 3 bytes: %v", err)
		}
		if err := b.Send(&umad.Message{Data: make([]byte, 3)}); !errors.Is(err, mad.ErrShort) {
			t.Errorf("send of 3 bytes: %v", err)
		}
	})
}

// queuing is a device that has more datagrams, so often as it says.
type queuing struct {
	several
	more int
}

func (q *queuing) Waiting() bool {
	q.more--
	return q.more >= 0
}

// TestAnswers: what handlers send goes out together when no more requests wait,
// and errors are counted.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := umadtest.Pair(umadtest.Options{})
		dev := &queuing{several: several{Device: far}, more: 2}
		client, server := umad.NewPort(near), umad.NewPort(dev)
		err := server.Handle(agent, func(m *umad.Message) {
			m = m.Clone()
			if err := errors.Join(m.Reply(mad.StatusOK), server.Answers().Send(m)); err != nil {
				t.Error(err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		answered := 0
		ask := func() {
			err := client.Start(request(), umad.CallOptions{}, func(_ *umad.Message, err error) {
				if err == nil {
					answered++
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		for _, want := range []int{0, 0, 3, 4} {
			if ask(); answered != want {
				t.Errorf("%d answers, want %d", answered, want)
			}
		}
		if !slices.Equal(dev.calls, []int{3, 1}) {
			t.Errorf("calls with %v datagrams, want 3 and 1", dev.calls)
		}
		dev.refuse = errors.New("no")
		if ask(); answered != 4 || server.Stats().SendErrors != 1 {
			t.Errorf("%d answers, stats %+v, want 4 and an error", answered, server.Stats())
		}
		if err := errors.Join(client.Close(), server.Close()); err != nil {
			t.Error(err)
		}
	})
}
