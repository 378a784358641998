package channel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
)

// Duplex is a channel each way between two peers: the paper's doubled
// point-to-point channel. Each message tells, in 8 bytes before its own, how much
// of what came the other way was given back, so that as long as messages go both
// ways no request goes for credits or heads: those of rings and of Send/Recv, whose
// room is a number. When they go one way only, room is told, or asked for, as
// without. The slot and fetch channels go without: their room is told by requests
// of their own.
//
// The sender and the receiver are used as any others; MaxMessage is 8 bytes less.
type Duplex struct {
	s *Sender
	r *Receiver
}

// NewDuplex makes both ends of one side, of a kind with one sender and one reader.
// Both sides use the same kind.
func (t *Transport) NewDuplex(kind *Kind, cfg Config) (*Duplex, error) {
	if kind.Senders || kind.Readers {
		return nil, fmt.Errorf("duplex of channel %s, which is for many: %w", kind.Name, ErrInvalid)
	}
	s, err := t.NewSender(kind, cfg)
	if err != nil {
		return nil, err
	}
	r, err := t.NewReceiver(kind, cfg)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	pair(s, r)
	return &Duplex{s, r}, nil
}

// Sender is the end that sends.
func (d *Duplex) Sender() *Sender { return d.s }

// Receiver is the end that receives.
func (d *Duplex) Receiver() *Receiver { return d.r }

// Carries tells whether messages tell of room, so that no requests have to.
func (d *Duplex) Carries() bool { return d.s.twin != nil }

// Attach joins it over a link with the peer's that is attached under the same
// name.
func (d *Duplex) Attach(ctx context.Context, l *Link, name string) error {
	// The one that dialed sends by the first of the two.
	there, back := name+" >", name+" <"
	if !l.dialed {
		there, back = back, there
	}
	failed := make(chan error, 1)
	go func() {
		_, err := l.Attach(ctx, there, d.s)
		failed <- err
	}()
	_, err := l.Attach(ctx, back, d.r)
	return errors.Join(err, <-failed)
}

// Close closes both ends: what was sent still comes, see Sender.Close.
func (d *Duplex) Close() error { return errors.Join(d.s.Close(), d.r.Close()) }

// JoinDuplex makes two of one process each other's peer.
func JoinDuplex(ctx context.Context, a, b *Duplex) error {
	return errors.Join(Join(ctx, a.s, b.r), Join(ctx, b.s, a.r))
}

// twin is what the two ends of a side tell each other, who have a lock each. All
// count modulo 1<<32, in the kind's unit.
type twin struct {
	back  atomic.Uint32 // what was given back here, and a message may tell
	told  atomic.Uint32 // of that, what a message has told
	heard atomic.Uint32 // what the peer has told
}

// crediting is a sender that takes in how much its peer has given back, and
// returning a receiver that tells it.
type (
	crediting interface{ credit(back uint32) error }
	returning interface {
		back() uint32
		pair(*twin)
	}
)

// pair has the messages of the one end tell what the other has given back, where
// the kind can do so.
func pair(s *Sender, r *Receiver) {
	_, credits := s.p.(crediting)
	p, returns := r.p.(returning)
	if !credits || !returns {
		return
	}
	t := &twin{}
	s.twin, r.twin, s.beside = t, t, besideTwin
	p.pair(t)
}

// besideTwin is how long what a message tells is: a number of 32 bits, and as many
// that are zero, so that messages begin at a multiple of 8.
const besideTwin = 8

// listen takes in what messages have told since it was called last; the lock is held.
func (s *Sender) listen() error {
	back := s.twin.heard.Load()
	if back == s.heard {
		return nil
	}
	s.heard = back
	return s.p.(crediting).credit(back)
}

// tell writes what is to be told to the message that is committed; the lock is held.
func (s *Sender) tell() (back uint32) {
	back = s.twin.back.Load()
	binary.LittleEndian.PutUint64(s.told, uint64(back))
	return back
}

// hasTold counts a message that was committed.
func (s *Sender) hasTold(back uint32) {
	if s.twin.told.Swap(back) != back {
		s.carried++
	}
}

// hear takes what a message tells from its beginning; the lock is held.
func (r *Receiver) hear(h *holding) error {
	if len(h.data) < besideTwin {
		return fmt.Errorf("a message of %d bytes on a duplex: %w", len(h.data), ErrInvalid)
	}
	r.twin.heard.Store(uint32(binary.LittleEndian.Uint64(h.data)))
	h.data = h.data[besideTwin:]
	return nil
}
