package channel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// flow is what goes through a channel in tests: messages that tell what they are, so
// that who receives them sees each that is lost, that comes twice, or is wrong. A
// message is the sum of what follows, the number of its sender, its own number, with
// the highest bit in the last one, its length, and bytes that follow from these.
type flow struct {
	rnd    *rand.Rand
	source int
	size   int
	next   []uint64 // by sender: the number that comes next
	ended  []bool   // by sender: its last message has come
}

const lastMessage = 1 << 63

func newFlow(seed uint64, source, size int) *flow {
	return &flow{rnd: rand.New(rand.NewPCG(seed, uint64(source))), source: source, size: size}
}

// length is that of a message: of few bytes mostly.
func (f *flow) length() int {
	most := f.size - header
	if f.rnd.IntN(16) > 0 {
		most = min(most, 100)
	}
	return header + f.rnd.IntN(most+1)
}

// fill makes the message of a number.
func (f *flow) fill(b []byte, number uint64) {
	x := number*0x9e3779b97f4a7c15 | bellByte
	for i := header; i < len(b); i++ {
		b[i] = byte(x >> (i % 8 * 8))
	}
	binary.LittleEndian.PutUint32(b[4:], uint32(f.source))
	binary.LittleEndian.PutUint64(b[8:], number)
	binary.LittleEndian.PutUint32(b[16:], uint32(len(b)))
	binary.LittleEndian.PutUint32(b, crc32.ChecksumIEEE(b[4:]))
}

// check looks at a message that has come, and tells whether it is its sender's last.
func (f *flow) check(b []byte) (last bool, err error) {
	if len(b) < header || int(binary.LittleEndian.Uint32(b[16:])) != len(b) || binary.LittleEndian.Uint32(b) != crc32.ChecksumIEEE(b[4:]) {
		return false, fmt.Errorf("%d bytes that nobody sent: %x", len(b), b[:min(len(b), 64)])
	}
	source, number := int(binary.LittleEndian.Uint32(b[4:])), binary.LittleEndian.Uint64(b[8:])
	for len(f.next) <= source {
		f.next, f.ended = append(f.next, 0), append(f.ended, false)
	}
	last = number&lastMessage != 0
	if number &^= lastMessage; number != f.next[source] || f.ended[source] {
		return last, fmt.Errorf("message %d of sender %d, want %d", number, source, f.next[source])
	}
	f.next[source]++
	f.ended[source] = last
	return last, nil
}

// came is how many messages have come in all.
func (f *flow) came() (n uint64) {
	for _, next := range f.next {
		n += next
	}
	return n
}

// cameOf is how many have come of a sender.
func (f *flow) cameOf(source int) uint64 {
	if source < len(f.next) {
		return f.next[source]
	}
	return 0
}

// hasEnded tells whether the last message of a sender has come.
func (f *flow) hasEnded(source int) bool { return source < len(f.ended) && f.ended[source] }

// send sends for a while, or so many messages, as fast as it can, and gives how
// many there were. Now and then it waits for room for a moment only, and gives
// memory back that it had reserved.
func (f *flow) send(ctx context.Context, s *Sender, span time.Duration, most uint64) (n uint64, err error) {
	for start := time.Now(); ; {
		length := f.length()
		room := length
		if f.rnd.IntN(32) == 0 {
			room += f.rnd.IntN(f.size - length + 1)
		}
		l, err := f.reserve(ctx, s, room)
		if err != nil {
			return n, err
		}
		if f.rnd.IntN(64) == 0 {
			l.Abort()
			continue
		}
		number := n
		if n+1 == most || n%16 == 0 && time.Since(start) > span {
			number |= lastMessage
		}
		f.fill(l.Bytes()[:length], number)
		if err := l.Commit(length); err != nil {
			return n, err
		}
		if n++; number&lastMessage != 0 {
			return n, nil
		}
	}
}

// reserve waits until there is room, now and then in several calls.
func (f *flow) reserve(ctx context.Context, s *Sender, n int) (Lease, error) {
	for f.rnd.IntN(32) == 0 {
		soon, cancel := context.WithTimeout(ctx, time.Duration(f.rnd.IntN(200))*time.Microsecond)
		l, err := s.Reserve(soon, n)
		cancel()
		if err == nil || !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return l, err
		}
		n = min(n+f.rnd.IntN(64), f.size)
	}
	return s.Reserve(ctx, n)
}

// receive receives until the last message of each sender has come, or nothing has
// for a while and idle, which is asked then, gives an error. It keeps some
// messages for a while, and gives them back in any order.
func (f *flow) receive(ctx context.Context, r *Receiver, senders int, idle func(time.Duration) error) error {
	var held []Message
	give := func(most int) {
		for len(held) > most {
			i := f.rnd.IntN(len(held))
			held[i].Release()
			held = slices.Delete(held, i, i+1)
		}
	}
	defer give(0)
	left, since := senders, time.Now()
	for left > 0 {
		m, err := f.one(ctx, r, len(held) > 0)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			give(0)
			if err := idle(time.Since(since)); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		last, err := f.check(m.Bytes())
		held = append(held, m)
		if err != nil {
			return err
		}
		if last {
			left--
		}
		since = time.Now()
		if n := f.rnd.IntN(64); n > 4 {
			give(0)
		} else {
			give(2 * n)
		}
	}
	return nil
}

// one waits for a message, now and then for a moment only, and not for long where
// messages are held that room may be made of.
func (f *flow) one(ctx context.Context, r *Receiver, holds bool) (Message, error) {
	wait := 100 * time.Millisecond
	switch {
	case f.rnd.IntN(64) == 0:
		wait = time.Duration(f.rnd.IntN(200)) * time.Microsecond
	case holds:
		wait = 300 * time.Microsecond
	}
	m, err := r.TryReceive()
	if !errors.Is(err, ErrWouldBlock) {
		return m, err
	}
	soon, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	return r.Receive(soon)
}

// over sees to it that no more comes: of the only sender the end, of many nothing.
func (f *flow) over(ctx context.Context, r *Receiver) error {
	soon, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if r.cfg.Peers > 1 {
		soon, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
	}
	m, err := r.Receive(soon)
	switch {
	case err == nil:
		return fmt.Errorf("one more message, of %d bytes", len(m.Bytes()))
	case r.cfg.Peers > 1 && errors.Is(err, context.DeadlineExceeded), errors.Is(err, io.EOF):
		return nil
	default:
		return fmt.Errorf("after the last message: %w", err)
	}
}
