package channel

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"heddle/verbs"
)

// intoBench is a channel, and a buffer of the receiver's.
type intoBench struct {
	*bench
	buffer *Buffer
}

func newIntoBench(t *testing.T, name string) *intoBench {
	t.Helper()
	kind, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, kind)
	mem, err := verbs.NewMemory(1 << 14)
	if err != nil {
		t.Fatal(err)
	}
	buffer, err := b.r.t.Register(mem)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(b.r.Close(), buffer.Close(), mem.Close()); err != nil {
			t.Error(err)
		}
	})
	return &intoBench{b, buffer}
}

func (b *intoBench) message(n int) []byte {
	b.t.Helper()
	m := b.payload(uint64(n), n)
	if err := b.s.Send(b.t.Context(), m); err != nil {
		b.t.Fatal(err)
	}
	return m
}

// TestReceiveInto: messages come to where the caller says, without a copy and
// without a byte beside them.
func TestReceiveInto(t *testing.T) {
	for _, name := range []string{"fetch-flag", "fetch-send"} {
		t.Run(name, func(t *testing.T) {
			b := newIntoBench(t, name)
			all := b.buffer.Bytes()
			for i := range 200 { // more than there are slots
				n := i * 19 % 4000
				want := b.message(n)
				for j := range all {
					all[j] = 0xaa
				}
				got, err := b.r.ReceiveInto(t.Context(), b.buffer, i, n)
				if err != nil || got != n {
					t.Fatalf("message of %d bytes: %d, %v", n, got, err)
				}
				rest := append(bytes.Clone(all[:i]), all[i+n:]...)
				if !bytes.Equal(all[i:i+n], want) || bytes.Count(rest, []byte{0xaa}) != len(rest) {
					t.Fatalf("message of %d bytes at %d: it is wrong, or more was written", n, i)
				}
			}
			if b.r.copied != 0 {
				t.Errorf("%d bytes were copied", b.r.copied)
			}
		})
	}
}

// TestReceiveIntoMixed: a message that is too long stays, and what Receive has
// fetched ahead comes by a copy.
func TestReceiveIntoMixed(t *testing.T) {
	for _, name := range []string{"fetch-flag", "fetch-send"} {
		t.Run(name, func(t *testing.T) {
			b := newIntoBench(t, name)
			want := b.message(100)
			var long *LengthError
			if _, err := b.r.ReceiveInto(t.Context(), b.buffer, 0, 99); !errors.As(err, &long) || *long != (LengthError{100, 99}) {
				t.Errorf("100 bytes into 99: %v", err)
			}
			if m := b.receive(); !bytes.Equal(m.Bytes(), want) {
				t.Errorf("after that: %x", m.Bytes())
			} else {
				m.Release()
			}
			b.message(10)
			want = b.message(200)
			b.rest()
			b.receive().Release()
			if n, err := b.r.ReceiveInto(t.Context(), b.buffer, 8, 300); err != nil || !bytes.Equal(b.buffer.Bytes()[8:8+n], want) {
				t.Errorf("fetched ahead: %d bytes, %v", n, err)
			}
		})
	}
}

func TestReceiveIntoRefused(t *testing.T) {
	b := newIntoBench(t, "fetch-flag")
	done, cancel := context.WithCancel(t.Context())
	cancel()
	other := newIntoBench(t, "cast-flag")
	for _, c := range []struct {
		ctx       context.Context
		r         *Receiver
		buffer    *Buffer
		offset, n int
		want      error
	}{
		{t.Context(), b.r, nil, 0, 1, ErrInvalid},
		{t.Context(), b.r, other.buffer, 0, 1, ErrInvalid},
		{t.Context(), b.r, b.buffer, -1, 1, ErrInvalid},
		{t.Context(), b.r, b.buffer, 1 << 14, 1, ErrInvalid},
		{t.Context(), b.r, b.buffer, 1, 1 << 14, ErrInvalid},
		{done, b.r, b.buffer, 0, 1, context.Canceled},
		{t.Context(), other.r, other.buffer, 0, 1, ErrNotSupported},
	} {
		if _, err := c.r.ReceiveInto(c.ctx, c.buffer, c.offset, c.n); !errors.Is(err, c.want) {
			t.Errorf("%d bytes from %d: %v, want %v", c.n, c.offset, err, c.want)
		}
	}
	_ = b.s.Close()
	if _, err := b.r.ReceiveInto(t.Context(), b.buffer, 0, 1); !errors.Is(err, ErrPeerGone) {
		t.Errorf("of a peer that left: %v", err)
	}
	_ = b.r.Close()
	if _, err := b.r.ReceiveInto(t.Context(), b.buffer, 0, 1); !errors.Is(err, ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

// TestFetchedIsDelivered: what was READ when the sender was gone is delivered: of
// kinds that READ ahead, messages that came together.
func TestFetchedIsDelivered(t *testing.T) {
	for _, name := range []string{"fetch-flag", "fetch-send", "cast-bell", "cast-flag", "cast-send"} {
		t.Run(name, func(t *testing.T) {
			b := newIntoBench(t, name)
			const messages = 5
			for n := range messages {
				b.message(80 + n)
			}
			b.rest()
			b.receive().Release()
			b.rest()
			if err := b.s.close(); err != nil {
				t.Fatal(err)
			}
			for n := 1; n < messages; n++ {
				m, err := b.r.Receive(t.Context())
				if err != nil || len(m.Bytes()) != 80+n {
					t.Fatalf("message %d: %d bytes, %v", n, len(m.Bytes()), err)
				}
				m.Release()
			}
			if _, err := b.r.Receive(t.Context()); !errors.Is(err, ErrPeerGone) {
				t.Errorf("then: %v", err)
			}
		})
	}
}
