package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// Exchange carries words between the ranks, before they have a group.
type Exchange interface {
	// AllGather tells all ranks the words of all, in the order of ranks. All
	// ranks call it the same number of times.
	AllGather(ctx context.Context, mine []byte) (all [][]byte, err error)
}

// LocalExchange makes the exchanges of size ranks in one process, by rank.
func LocalExchange(size int) []Exchange {
	r := &round{size: size}
	r.begin()
	list := make([]Exchange, size)
	for i := range list {
		list[i] = &local{r: r, rank: i}
	}
	return list
}

type local struct {
	r    *round
	rank int
}

// round is one AllGather after the other.
type round struct {
	size int
	mu   sync.Mutex
	now  *gathering // guarded by mu
}

type gathering struct {
	words [][]byte
	left  int
	done  chan struct{} // closed when all are there
}

func (r *round) begin() {
	r.now = &gathering{words: make([][]byte, r.size), left: r.size, done: make(chan struct{})}
}

func (l *local) AllGather(ctx context.Context, mine []byte) ([][]byte, error) {
	g := l.r.add(l.rank, mine)
	select {
	case <-g.done:
		return g.words, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (r *round) add(rank int, mine []byte) *gathering {
	r.mu.Lock()
	defer r.mu.Unlock()
	g := r.now
	g.words[rank] = mine
	if g.left--; g.left == 0 {
		close(g.done)
		r.begin()
	}
	return g
}

// maxWords is how many bytes a rank may say at once.
const maxWords = 64 << 20

// star is an exchange over TCP, or any other stream: all ranks are connected with
// rank 0.
type star struct {
	rank  int
	conns []net.Conn // at rank 0 of each rank, else to rank 0 alone
}

// StreamExchange is an exchange that has connections to be closed in the end.
type StreamExchange interface {
	Exchange
	io.Closer
}

// ListenExchange is the exchange of rank 0, which takes the connections of all
// others. The listener stays the caller's. Words of a group are keys to memory:
// where others can listen, the listener has to be one of TLS.
func ListenExchange(ctx context.Context, l net.Listener, size int) (StreamExchange, error) {
	s := &star{conns: make([]net.Conn, size)}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	for left := size - 1; left > 0; {
		c, err := l.Accept()
		if err != nil {
			return nil, errors.Join(fmt.Errorf("wait for %d more ranks: %w", left, either(ctx, err)), s.Close())
		}
		if s.admit(c) {
			left--
		} else {
			_ = c.Close() // a stranger
		}
	}
	return s, nil
}

// admit takes a connection that says which rank it is of.
func (s *star) admit(c net.Conn) bool {
	var b [4]byte
	_ = c.SetReadDeadline(time.Now().Add(5 * time.Second)) // the read fails as well
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return false
	}
	rank := binary.LittleEndian.Uint32(b[:])
	if rank == 0 || rank >= uint32(len(s.conns)) || s.conns[rank] != nil {
		return false
	}
	s.conns[rank] = c
	return c.SetReadDeadline(time.Time{}) == nil
}

// DialExchange is the exchange of another rank, which dials rank 0 until that
// listens.
func DialExchange(ctx context.Context, network, address string, rank int) (StreamExchange, error) {
	var d net.Dialer
	for {
		c, err := d.DialContext(ctx, network, address)
		if err == nil {
			if _, err = c.Write(binary.LittleEndian.AppendUint32(nil, uint32(rank))); err != nil {
				return nil, errors.Join(err, c.Close())
			}
			return &star{rank: rank, conns: []net.Conn{c}}, nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return nil, fmt.Errorf("dial rank 0 at %s: %w", address, either(ctx, err))
		}
	}
}

// either is the context's error, if it has one.
func either(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// AllGather implements Exchange.
func (s *star) AllGather(ctx context.Context, mine []byte) ([][]byte, error) {
	stop := context.AfterFunc(ctx, func() {
		for _, c := range s.conns {
			if c != nil {
				_ = c.SetDeadline(time.Unix(1, 0)) // who reads fails
			}
		}
	})
	defer stop()
	all, err := s.gather(mine)
	if err != nil {
		return nil, either(ctx, err)
	}
	return all, nil
}

func (s *star) gather(mine []byte) ([][]byte, error) {
	if s.rank != 0 {
		if err := writeWords(s.conns[0], [][]byte{mine}); err != nil {
			return nil, fmt.Errorf("tell rank 0: %w", err)
		}
		all, err := readWords(s.conns[0])
		if err != nil {
			return nil, fmt.Errorf("hear from rank 0: %w", err)
		}
		return all, nil
	}
	all := make([][]byte, len(s.conns))
	all[0] = mine
	for r, c := range s.conns[1:] {
		one, err := readWords(c)
		if err == nil && len(one) != 1 {
			err = ErrInvalid
		}
		if err != nil {
			return nil, fmt.Errorf("hear from rank %d: %w", r+1, err)
		}
		all[r+1] = one[0]
	}
	for r, c := range s.conns[1:] {
		if err := writeWords(c, all); err != nil {
			return nil, fmt.Errorf("tell rank %d: %w", r+1, err)
		}
	}
	return all, nil
}

// Close implements io.Closer.
func (s *star) Close() (err error) {
	for _, c := range s.conns {
		if c != nil {
			err = errors.Join(err, c.Close())
		}
	}
	return err
}

// writeWords writes how many there are, and each after its length.
func writeWords(w io.Writer, words [][]byte) error {
	b := binary.LittleEndian.AppendUint32(nil, uint32(len(words)))
	for _, one := range words {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(one)))
		b = append(b, one...)
	}
	_, err := w.Write(b)
	return err
}

// readWords reads them; what they claim to be costs no memory before it comes.
func readWords(r io.Reader) ([][]byte, error) {
	n, err := readCount(r, maxSize)
	if err != nil {
		return nil, err
	}
	var words [][]byte
	for left := maxWords; n > 0; n-- {
		length, err := readCount(r, left)
		if err != nil {
			return nil, err
		}
		left -= length
		one, err := io.ReadAll(io.LimitReader(r, int64(length)))
		if err != nil {
			return nil, err
		}
		if len(one) < length {
			return nil, io.ErrUnexpectedEOF
		}
		words = append(words, one)
	}
	return words, nil
}

func readCount(r io.Reader, most int) (int, error) {
	var b [4]byte
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return 0, err
	}
	if n := binary.LittleEndian.Uint32(b[:]); uint64(n) <= uint64(most) {
		return int(n), nil
	}
	return 0, fmt.Errorf("%d, where at most %d may come: %w", binary.LittleEndian.Uint32(b[:]), most, ErrInvalid)
}
