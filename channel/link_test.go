package channel

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// ends are both ends of a connection.
func ends(t *testing.T) (dialed, accepted net.Conn) {
	t.Helper()
	l := localListener(t)
	defer l.Close()
	dialed, err := net.Dial(l.Addr().Network(), l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if accepted, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = dialed.Close(); _ = accepted.Close() })
	return dialed, accepted
}

func TestHandshake(t *testing.T) {
	secret, other := LinkConfig{Secret: []byte("one")}, LinkConfig{Secret: []byte("two")}
	for _, test := range []struct {
		name             string
		dial, accept     LinkConfig
		dialed, accepted string // what their errors say
	}{
		{name: "no secret"},
		{name: "the same secret", dial: secret, accept: secret},
		{name: "another secret", dial: secret, accept: other, dialed: "the peer refuses: \"the peer does not know the secret", accepted: "does not know the secret"},
		{name: "one has none", dial: secret, dialed: "one side wants a secret", accepted: "one side wants a secret"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := ends(t)
			failed := make(chan error, 1)
			go func() {
				l, err := NewLink(t.Context(), b, false, test.accept)
				if err == nil {
					_ = l.Close()
				}
				failed <- err
			}()
			l, err := NewLink(t.Context(), a, true, test.dial)
			if err == nil {
				defer l.Close()
			}
			says(t, "who dialed", err, test.dialed)
			says(t, "who accepted", <-failed, test.accepted)
		})
	}
}

func says(t *testing.T, who string, err error, want string) {
	t.Helper()
	if want == "" {
		if err != nil {
			t.Errorf("%s: %v", who, err)
		}
		return
	}
	if !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want an ErrInvalid that says %q", who, err, want)
	}
}

// TestHostileGreeting has peers say what no peer says.
func TestHostileGreeting(t *testing.T) {
	good := append(append([]byte("heddle\x00\x00"), 0, version, 0, 0), make([]byte, 32)...)
	newer := bytes.Clone(good)
	newer[9] = 9
	for _, test := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"a web browser", []byte("GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n"), "does not speak heddle"},
		{"another version", newer, "version 9, this side version 1"},
		{"nothing", nil, "after 0 bytes"},
		{"a part", good[:20], "after 20 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := ends(t)
			if _, err := a.Write(test.bytes); err != nil {
				t.Fatal(err)
			}
			_ = a.(*net.UnixConn).CloseWrite()
			_, err := NewLink(t.Context(), b, false, LinkConfig{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

// TestSilentPeer has a peer say nothing.
func TestSilentPeer(t *testing.T) {
	_, b := ends(t)
	_, err := NewLink(t.Context(), b, false, LinkConfig{Timeout: 20 * time.Millisecond})
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("%v, want a timeout", err)
	}
	_, b = ends(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, err = NewLink(ctx, b, false, LinkConfig{}); err == nil {
		t.Error("a link with a peer that says nothing")
	}
}

// links are both ends of a link.
func links(t *testing.T) (dialed, accepted *Link) {
	t.Helper()
	a, b := ends(t)
	made := make(chan *Link, 1)
	go func() {
		l, err := NewLink(t.Context(), b, false, LinkConfig{})
		if err != nil {
			t.Error(err)
		}
		made <- l
	}()
	dialed, err := NewLink(t.Context(), a, true, LinkConfig{})
	if err != nil {
		t.Fatal(err)
	}
	accepted = <-made
	t.Cleanup(func() { _ = dialed.Close(); _ = accepted.Close() })
	return dialed, accepted
}

// linked is a channel over a link.
func linked(t *testing.T, kind *Kind) (s *Sender, r *Receiver, a, b *Link) {
	t.Helper()
	ta, tb := liveTransport(t), liveTransport(t)
	a, b = links(t)
	s, err := ta.NewSender(kind, Config{})
	if err != nil {
		t.Fatal(err)
	}
	r, err = tb.NewReceiver(kind, Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close(); _ = r.Close() })
	failed := make(chan error, 1)
	go func() { failed <- second(b.Attach(t.Context(), "news", r)) }()
	if _, err := a.Attach(t.Context(), "news", s); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return s, r, a, b
}

// TestDrain closes a sender: all that it sent comes, and then the end.
func TestDrain(t *testing.T) {
	for _, kind := range overLinks() {
		t.Run(kind.Name, func(t *testing.T) {
			s, r, _, _ := linked(t, kind)
			const n = 10
			for i := range n {
				if err := s.Send(t.Context(), binary.LittleEndian.AppendUint64(nil, uint64(i))); err != nil {
					t.Fatal(err)
				}
			}
			closed := make(chan error, 1)
			go func() { closed <- s.Close() }()
			for i := range n {
				m, err := r.Receive(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				if got := binary.LittleEndian.Uint64(m.Bytes()); got != uint64(i) {
					t.Fatalf("message %d is number %d", i, got)
				}
				m.Release()
			}
			if m, err := r.Receive(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("after the last message: %d bytes, %v, want io.EOF", len(m.Bytes()), err)
			}
			if err := <-closed; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestFinishAtOnce: a sender that finishes as soon as it may has the receiver learn
// of it, however late that one returns from Attach.
func TestFinishAtOnce(t *testing.T) {
	a, b := ends(t)
	l := newLink(b, false)
	defer l.Close()
	r, err := liveTransport(t).NewReceiver(&ringBell, Config{})
	must(t, err)
	defer r.Close()
	s, err := liveTransport(t).NewSender(&ringBell, Config{Linger: 1})
	must(t, err)
	defer s.Close()
	p, err := s.Invite()
	must(t, err)
	failed := make(chan error, 2)
	go func() { failed <- second(l.Attach(t.Context(), "x", r)) }()
	say := func(kinds ...frameType) {
		var all []byte
		for _, kind := range kinds {
			body := map[frameType][]byte{offerFrame: p.Hello(), finishFrame: appendCount(nil, 0)}[kind]
			f, err := frameOf(kind, "x", body)
			must(t, err)
			all = append(all, f...)
		}
		_, err := a.Write(all)
		must(t, err)
	}
	_, _, hello, err := readFrame(a)
	must(t, err)
	say(offerFrame)
	go func() { failed <- p.Attach(t.Context(), hello) }()
	_, _, _, err = readFrame(a)
	must(t, err)
	say(attachedFrame, finishFrame)
	must(t, errors.Join(<-failed, <-failed))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := r.Receive(ctx); !errors.Is(err, io.EOF) {
		t.Errorf("%v, want io.EOF", err)
	}
}

// TestAttachToDead: who attaches to a peer that dies after it has made its offer, and
// never connects, learns of it, whichever of the two waits for the other.
func TestAttachToDead(t *testing.T) {
	for range 8 {
		a, b := ends(t)
		l := newLink(b, false)
		r, err := liveTransport(t).NewReceiver(&ringBell, Config{})
		must(t, err)
		s, err := liveTransport(t).NewSender(&ringBell, Config{Linger: 1})
		must(t, err)
		p, err := s.Invite()
		must(t, err)
		failed := make(chan error, 1)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		go func() { failed <- second(l.Attach(ctx, "x", r)) }()
		_, _, _, err = readFrame(a)
		must(t, err)
		offer, err := frameOf(offerFrame, "x", p.Hello())
		must(t, err)
		_, err = a.Write(offer)
		must(t, err)
		must(t, a.Close())
		if err := <-failed; !errors.Is(err, ErrPeerGone) {
			t.Errorf("%v, want ErrPeerGone", err)
		}
		cancel()
		must(t, errors.Join(l.Close(), r.Close(), s.Close()))
	}
}

// overLinks are the kinds with one peer at each end.
func overLinks() (kinds []*Kind) {
	for _, k := range Kinds() {
		if !k.Senders && !k.Readers {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// TestLinkBreaks has the connection of a link end, as when a process dies: who
// waits for messages gets what has come, and then ErrPeerGone.
func TestLinkBreaks(t *testing.T) {
	for _, kind := range overLinks() {
		t.Run(kind.Name, func(t *testing.T) {
			s, r, a, _ := linked(t, kind)
			if err := s.Send(t.Context(), []byte("last words")); err != nil {
				t.Fatal(err)
			}
			m, err := r.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			m.Release()
			waits := make(chan error, 1)
			go func() { waits <- second(r.Receive(t.Context())) }()
			_ = a.Close()
			if err := <-waits; !errors.Is(err, ErrPeerGone) {
				t.Errorf("%v, want ErrPeerGone", err)
			}
		})
	}
}

// TestAttachMisfits attaches ends that do not fit.
func TestAttachMisfits(t *testing.T) {
	ta, tb := liveTransport(t), liveTransport(t)
	a, b := links(t)
	s, err := ta.NewSender(&ringBell, Config{Linger: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s2, err := tb.NewSender(&ringBell, Config{Linger: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s2.Close()
	failed := make(chan error, 1)
	go func() { failed <- second(b.Attach(t.Context(), "x", s2)) }()
	for _, err := range []error{second(a.Attach(t.Context(), "x", s)), <-failed} {
		if !errors.Is(err, ErrInvalid) {
			t.Errorf("two senders: %v, want ErrInvalid", err)
		}
	}
	if a.Err() != nil || b.Err() != nil {
		t.Errorf("the links ended: %v, %v", a.Err(), b.Err())
	}
}

// TestHostileFrames has a peer say over a link what no peer says.
func TestHostileFrames(t *testing.T) {
	frame := func(kind frameType, name string, body []byte) []byte {
		b, err := frameOf(kind, name, body)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var many []byte
	for i := range maxOffers + 1 {
		many = append(many, frame(offerFrame, string(rune('a'+i)), nil)...)
	}
	for _, test := range []struct {
		name  string
		bytes []byte
		want  string
	}{
		{"too long", []byte{0xff, 0, 0, 0, 0, 0}, "a frame of"},
		{"a name beyond its end", []byte{0, 0, 0, 3, 2, 9, 1}, "with a name of 9"},
		{"an unknown type", frame(99, "", nil), "type 99"},
		{"an offer twice", append(frame(offerFrame, "x", nil), frame(offerFrame, "x", nil)...), "twice"},
		{"attached twice", append(frame(attachedFrame, "x", nil), frame(attachedFrame, "x", nil)...), "twice"},
		{"many offers", many, "more than"},
		{"a count of one byte", frame(finishFrame, "x", []byte{1}), "a count of 1 bytes"},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := ends(t)
			l := newLink(b, false)
			defer l.Close()
			if _, err := a.Write(test.bytes); err != nil {
				t.Fatal(err)
			}
			<-l.Done()
			if err := l.Err(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an ErrInvalid that says %q", err, test.want)
			}
		})
	}
}

func FuzzFrame(f *testing.F) {
	b, _ := frameOf(offerFrame, "news", []byte("hello"))
	f.Add(b)
	f.Add([]byte{0, 0, 0, 2, 1, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		kind, name, body, err := readFrame(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := frameOf(kind, name, body)
		if err != nil || !bytes.HasPrefix(b, again) {
			t.Errorf("%x, %v: read from %x", again, err, b)
		}
	})
}

func FuzzHello(f *testing.F) {
	h := hello{kind: 8, sends: true, slots: 4, size: 4096, ring: 1 << 20, salt: 7, slot: 1, regions: []remote{{1 << 40, 4096, 9}}, endpoint: []byte("qp")}
	f.Add(h.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := parseHello(b)
		if (h == nil) == (err == nil) {
			t.Fatalf("%v, %v", h, err)
		}
		if err == nil && !bytes.Equal(h.bytes(), b) {
			t.Errorf("%x was read from %x", h.bytes(), b)
		}
	})
}
