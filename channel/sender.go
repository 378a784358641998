package channel

import (
	"context"
	"errors"
	"fmt"
)

// sending is the sender's side of a kind.
type sending interface {
	protocol
	// most is the longest message; 0 as long as no peer has told.
	most() int
	// reserve gives the memory for a message of n bytes, or ErrWouldBlock. It
	// polls what tells of room.
	reserve(n int) ([]byte, error)
	// commit sends the first n bytes of what was reserved, and abort forgets it.
	// Commit may give ErrWouldBlock, and is then called again.
	commit(n int, imm *uint32) error
	abort()
	// settled tells whether all that was committed is with the peer, and has the
	// device tell so if it would not.
	settled() (bool, error)
}

// owing is a sending that has claimed what others wait behind. It is called with
// the lock held.
type owing interface {
	// forsake tells whether there is something claimed that is in no lease, and that
	// pay is to be called for until that tells that it is done, or was used.
	forsake() bool
	pay() bool
	// stop says that the sender closes: a lease that is out will not be committed.
	stop()
}

// crowding is a sending that shares the receiver's room with others. While it
// waits for room, the CPU may be what the receiver and they lack: of 64 senders on
// two CPUs that sleep soon, the receiver gets a fifth more.
type crowding interface {
	// crowded tells whether it has all but room. It is called with the lock held.
	crowded() bool
}

// batching is a sending that can have several messages go with one request.
type batching interface {
	// commitMore is commit of a message that may go with the next one. What waits
	// goes with commit, reserve where it needs room, and settled.
	commitMore(n int) error
}

// Sender sends messages.
type Sender struct {
	end
	p      sending
	batch  batching // p, if it is one
	leased int      // bytes of the lease that is out, -1 if none is
	pause  pause
	imm    uint32 // of the message that is committed
	beside int    // bytes of each message that are not the caller's
	told   []byte // the message of the lease that is out, of a duplex
	heard  uint32 // as far as it was taken in
}

// NewSender makes a sender, which has no peer yet. The error is a *Refusal where
// the device cannot have the kind.
func (t *Transport) NewSender(kind *Kind, cfg Config) (*Sender, error) {
	s := &Sender{leased: -1}
	err := s.begin(t, kind, cfg, kind.Readers)
	if err == nil {
		s.p, err = kind.sender(&s.end)
		s.batch, _ = s.p.(batching)
	}
	if err == nil {
		err = s.open(s.p)
	}
	if err != nil {
		return nil, fmt.Errorf("new sender of channel %s: %w", kind.Name, err)
	}
	return s, nil
}

// Kind is the channel's.
func (s *Sender) Kind() *Kind { return s.kind }

// Invite makes what one more peer needs.
func (s *Sender) Invite() (*Peer, error) { return s.invite() }

// MaxMessage is the longest message, 0 before there was a peer.
func (s *Sender) MaxMessage() int {
	if n := s.limit.Load(); n > 0 {
		return int(n)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.longest()
}

// longest is the longest message, asked for anew.
func (s *Sender) longest() int {
	n := max(s.p.most()-s.beside, 0)
	s.limit.Store(int64(n))
	return n
}

// Lease is memory of a message that is to be sent.
type Lease struct {
	s *Sender
	b []byte
}

// Bytes is the memory, as long as was asked for. It holds what was there before.
func (l Lease) Bytes() []byte { return l.b }

// Commit sends the first n bytes. It returns as soon as the device has them, or
// for a passive sender as soon as readers may have them.
func (l Lease) Commit(n int) error {
	s := l.s
	s.mu.Lock()
	err := s.tryCommit(n, nil, false)
	s.mu.Unlock()
	if err != nil {
		return s.commit(n, nil, err)
	}
	return nil
}

// CommitMore is Commit of a message behind which more are to be sent at once: it may
// go with them, at the latest when the last one is committed or with Flush. That is
// less work for each, of kinds that can do so; of others it is Commit.
func (l Lease) CommitMore(n int) error {
	s := l.s
	s.mu.Lock()
	err := s.tryCommit(n, nil, true)
	s.mu.Unlock()
	if err != nil {
		return s.commit(n, nil, err)
	}
	return nil
}

// CommitImm sends a number beside the bytes, where the kind's Features have
// Immediate. Where the device has no way to do so the error is a *Refusal, and the
// lease is still the caller's.
func (l Lease) CommitImm(n int, imm uint32) error {
	s := l.s
	s.mu.Lock()
	s.imm = imm
	err := s.tryCommit(n, &s.imm, false)
	s.mu.Unlock()
	if err != nil {
		return s.commit(n, &s.imm, err)
	}
	return nil
}

// Abort gives the memory back.
func (l Lease) Abort() {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	if l.s.leased < 0 {
		return
	}
	if !l.s.closed.Load() {
		l.s.p.abort()
	}
	l.s.unlease()
}

func (s *Sender) unlease() {
	s.leased = -1
	s.unuse()
}

// TryReserve gives memory for a message of n bytes at most, or ErrWouldBlock.
func (s *Sender) TryReserve(n int) (Lease, error) {
	s.mu.Lock()
	b, err := s.tryReserve(n)
	s.mu.Unlock()
	if err != nil {
		return Lease{}, s.fail("reserve", err)
	}
	return Lease{s, b}, nil
}

func (s *Sender) tryReserve(n int) ([]byte, error) {
	if s.closed.Load() || s.leased >= 0 || uint(n) > uint(s.limit.Load()) {
		if err := s.check(n); err != nil {
			return nil, err
		}
	}
	if s.twin != nil {
		if err := s.listen(); err != nil {
			return nil, err
		}
	}
	b, err := s.p.reserve(n + s.beside)
	if err != nil {
		return nil, err
	}
	if s.twin != nil {
		s.told, b = b, b[s.beside:]
	}
	s.leased = n
	s.use()
	return b, nil
}

// check tells what is wrong with a wish for n bytes.
func (s *Sender) check(n int) error {
	switch {
	case s.closed.Load():
		return ErrClosed
	case s.leased >= 0:
		return ErrLeased
	case n < 0:
		return fmt.Errorf("%d bytes: %w", n, ErrInvalid)
	}
	if most := s.longest(); n > most && most > 0 {
		return &LengthError{n, most}
	}
	return nil
}

// Reserve gives memory for a message of n bytes at most, and waits until there is
// room.
func (s *Sender) Reserve(ctx context.Context, n int) (Lease, error) {
	s.mu.Lock()
	b, err := s.tryReserve(n)
	s.mu.Unlock()
	if err != nil {
		return s.reserve(ctx, n, err)
	}
	return Lease{s, b}, nil
}

// reserve goes on with what tryReserve failed with, as long as that is a lack of
// room.
func (s *Sender) reserve(ctx context.Context, n int, err error) (l Lease, _ error) {
	if !blocked(err) {
		return l, s.fail("reserve", err)
	}
	s.stalls.Add(1)
	for s.pause.reset(); blocked(err); l, err = s.TryReserve(n) {
		s.retries.Add(1)
		s.pause.brief = s.crowded()
		if err := s.pause.wait(ctx, s.done); err != nil {
			s.forsake()
			return Lease{}, s.fail("reserve", err)
		}
	}
	return l, err
}

// crowded tells whether room is waited for that others wait for too.
func (s *Sender) crowded() bool {
	c, ok := s.p.(crowding)
	if !ok {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return c.crowded()
}

// forsake sees to it that nobody waits behind what a caller had claimed who does
// not wait for it any more.
func (s *Sender) forsake() {
	o, ok := s.p.(owing)
	if !ok {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed.Load() && o.forsake() {
		go s.pay(o)
	}
}

func (s *Sender) pay(o owing) {
	for p := (pause{}); ; {
		s.mu.Lock()
		done := s.closed.Load() || o.pay()
		s.mu.Unlock()
		if done || p.wait(context.Background(), s.done) != nil {
			return
		}
	}
}

// Send sends a copy of a message, and waits until there is room for it.
func (s *Sender) Send(ctx context.Context, message []byte) error {
	s.mu.Lock()
	b, err := s.tryReserve(len(message))
	if err == nil {
		copy(b, message)
		err = s.tryCommit(len(message), nil, false)
		s.mu.Unlock()
		if err != nil {
			return s.commit(len(message), nil, err)
		}
		return nil
	}
	s.mu.Unlock()
	l, err := s.reserve(ctx, len(message), err)
	if err != nil {
		return err
	}
	copy(l.b, message)
	return l.Commit(len(message))
}

// commit goes on with what tryCommit failed with, as long as that is a lack of
// room.
func (s *Sender) commit(n int, imm *uint32, err error) error {
	for s.pause.reset(); blocked(err); {
		s.retries.Add(1)
		if err := s.pause.wait(context.Background(), s.done); err != nil {
			return s.fail("commit", err)
		}
		s.mu.Lock()
		err = s.tryCommit(n, imm, false)
		s.mu.Unlock()
	}
	return s.fail("commit", err)
}

func (s *Sender) tryCommit(n int, imm *uint32, more bool) error {
	switch {
	case s.leased < 0:
		return fmt.Errorf("the lease is not out: %w", ErrInvalid)
	case n < 0 || n > s.leased:
		return fmt.Errorf("%d bytes of a lease of %d: %w", n, s.leased, ErrInvalid)
	case s.closed.Load():
		s.unlease()
		return ErrClosed
	}
	if imm != nil {
		if err := s.kind.missingImm(&s.t.caps); err != nil {
			return err
		}
	}
	var told uint32
	if s.twin != nil {
		told = s.tell()
	}
	var err error
	if more && s.batch != nil {
		err = s.batch.commitMore(n + s.beside)
	} else {
		err = s.p.commit(n+s.beside, imm)
	}
	if err == nil {
		if s.twin != nil {
			s.hasTold(told)
		}
		s.committed++
		s.bytes += uint64(n)
	}
	if !blocked(err) {
		s.unlease()
	}
	return err
}

// Flush waits until the devices of all peers have all that was committed; it may
// not have been received. Of a passive sender it waits until the readers have
// given all back and told so, which they do when they look for the next message:
// two sides that Flush at once, and receive nothing meanwhile, wait for each other.
func (s *Sender) Flush(ctx context.Context) error {
	for s.pause.reset(); ; {
		s.mu.Lock()
		ok, err := true, ErrClosed
		if !s.closed.Load() {
			ok, err = s.p.settled()
		}
		s.mu.Unlock()
		if err != nil && !blocked(err) || ok {
			return s.fail("flush", err)
		}
		if err := s.pause.wait(ctx, s.done); err != nil {
			return s.fail("flush", err)
		}
	}
}

// Close waits for what Flush waits for, as long as Config.Linger says, and ends
// the channel. A Reserve that waits gets ErrClosed.
func (s *Sender) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), s.cfg.Linger)
	defer cancel()
	if s.closed.Load() {
		return nil
	}
	if o, ok := s.p.(owing); ok {
		s.mu.Lock()
		o.stop()
		s.mu.Unlock()
	}
	s.linger(ctx)
	return errors.Join(s.finish(ctx), s.close())
}

// finish tells the peers how many messages they have to wait for.
func (s *Sender) finish(ctx context.Context) (err error) {
	s.mu.Lock()
	committed := s.committed
	var peers []*Peer
	for _, p := range s.peers {
		if p != nil && p.attached && p.finished != nil && p.gone == nil {
			peers = append(peers, p)
		}
	}
	s.mu.Unlock()
	for _, p := range peers {
		err = errors.Join(err, p.finished(ctx, committed-p.base))
	}
	return err
}

// linger is Flush for Close, which may be called beside a Flush; a peer that is
// gone is not waited for.
func (s *Sender) linger(ctx context.Context) {
	for p := (pause{}); ; {
		s.mu.Lock()
		ok, err := s.p.settled()
		s.mu.Unlock()
		if ok || err != nil && !blocked(err) || p.wait(ctx, s.done) != nil {
			return
		}
	}
}
