package channel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// TestCalls makes many calls at once, of which some fail.
func TestCalls(t *testing.T) {
	each := 25
	if onKernel() {
		each = 8 // there is one that fails
	}
	for _, kind := range overLinks() {
		t.Run(kind.Name, func(t *testing.T) {
			there, requests, a, b := linked(t, kind)
			back, replies := backChannel(t, kind, a, b)
			served := make(chan error, 1)
			go func() {
				served <- Serve(t.Context(), requests, back, func(_ context.Context, request, reply []byte) ([]byte, error) {
					if strings.HasSuffix(string(request), "7") {
						return nil, fmt.Errorf("no: %s", request)
					}
					return append(append(reply, "to "...), request...), nil
				})
			}()
			c := NewCaller(there, replies)
			var calls sync.WaitGroup
			for i := range 8 {
				calls.Go(func() {
					for j := range each {
						call(t, c, fmt.Sprint(i, " ", j))
					}
				})
			}
			calls.Wait()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Errorf("serve: %v", err)
			}
			if _, err := c.Call(t.Context(), nil); !errors.Is(err, ErrClosed) {
				t.Errorf("call after Close: %v", err)
			}
		})
	}
}

func call(t *testing.T, c *Caller, request string) {
	got, err := c.Call(t.Context(), []byte(request))
	if strings.HasSuffix(request, "7") {
		if !errors.Is(err, RemoteError("no: "+request)) {
			t.Errorf("%s: %v", request, err)
		}
		return
	}
	if err != nil || string(got) != "to "+request {
		t.Errorf("%s: %q, %v", request, got, err)
	}
}

// backChannel is the channel back, over links that are there.
func backChannel(t *testing.T, kind *Kind, a, b *Link) (*Sender, *Receiver) {
	t.Helper()
	s, err := liveTransport(t).NewSender(kind, Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := liveTransport(t).NewReceiver(kind, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = r.Close() })
	failed := make(chan error, 1)
	go func() { failed <- second(b.Attach(t.Context(), "back", s)) }()
	if _, err := a.Attach(t.Context(), "back", r); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return s, r
}

// TestCallIsLeft has a caller not wait for a reply, and the peer go.
func TestCallIsLeft(t *testing.T) {
	there, requests, a, b := linked(t, &ringBell)
	back, replies := backChannel(t, &ringBell, a, b)
	c := NewCaller(there, replies)
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { failed <- second(c.Call(ctx, []byte("late"))) }()
	m, err := requests.Receive(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	number := append([]byte(nil), m.Bytes()[:callHeader]...)
	m.Release()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
	if err := back.Send(t.Context(), number); err != nil { // the late reply
		t.Fatal(err)
	}
	go func() { failed <- second(c.Call(t.Context(), []byte("next"))) }()
	if m, err = requests.Receive(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.Release()
	_ = b.Close()
	if err := <-failed; !errors.Is(err, ErrPeerGone) {
		t.Errorf("%v, want ErrPeerGone", err)
	}
}
