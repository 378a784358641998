package collective

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"time"

	"heddle/channel"
	"heddle/verbs"
)

// tree is channels to the ranks that are a power of two away: the edges of the
// binomial trees from all roots, and of the rounds of a barrier.
type tree struct {
	g         *Group
	transport *channel.Transport
	kind      *channel.Kind
	senders   map[int]*outgoing
	receivers map[int]*incoming
}

type outgoing struct {
	*channel.Sender
	peer *channel.Peer
}

type incoming struct {
	*channel.Receiver
	peer *channel.Peer
}

// ringSize is of a channel, pieceSize of a message of it at most.
const (
	ringSize  = 64 << 10
	pieceSize = 8 << 10
)

// newTree makes the channels' ends on this side.
func newTree(g *Group) (*tree, error) {
	t := &tree{g: g, senders: map[int]*outgoing{}, receivers: map[int]*incoming{}}
	var err error
	if t.transport, err = channel.NewTransport(g.dev); err != nil {
		return nil, err
	}
	if t.kind, err = treeKind(&g.caps); err != nil {
		return t, err
	}
	cfg := channel.Config{Ring: ringSize, Slots: 16}
	for apart := 1; apart < g.size; apart *= 2 {
		to, from := (g.rank+apart)%g.size, (g.rank-apart+g.size)%g.size
		for _, r := range []int{to, from} {
			if t.senders[r] != nil {
				continue
			}
			s, err := t.transport.NewSender(t.kind, cfg)
			if err != nil {
				return t, err
			}
			t.senders[r] = &outgoing{Sender: s}
			rcv, err := t.transport.NewReceiver(t.kind, cfg)
			if err != nil {
				return t, err
			}
			t.receivers[r] = &incoming{Receiver: rcv}
		}
	}
	return t, nil
}

// treeKind is the best kind of channel for a tree's edges.
func treeKind(caps *verbs.Caps) (*channel.Kind, error) {
	for _, c := range channel.Advise(channel.Requirements{InOrder: true}, *caps) {
		if c.Fits() {
			return c.Kind, nil
		}
	}
	return nil, fmt.Errorf("no channel keeps the order of messages on this device: %w", channel.ErrNotSupported)
}

// hello is what the peers have to be told.
func (t *tree) hello() (list []channelHello, err error) {
	for r, s := range t.senders {
		rcv := t.receivers[r]
		if s.peer, err = s.Invite(); err != nil {
			return nil, err
		}
		if rcv.peer, err = rcv.Invite(); err != nil {
			return nil, err
		}
		list = append(list, channelHello{r, s.peer.Hello(), rcv.peer.Hello()})
	}
	return list, nil
}

// meet attaches all ends.
func (t *tree) meet(ctx context.Context, hellos []hello) (err error) {
	errs := make(chan error)
	for r, s := range t.senders {
		var theirs channelHello
		for _, c := range hellos[r].Channels {
			if c.Peer == t.g.rank {
				theirs = c
			}
		}
		go func() { errs <- s.peer.Attach(ctx, theirs.Recv) }()
		go func() { errs <- t.receivers[r].peer.Attach(ctx, theirs.Send) }()
	}
	for range 2 * len(t.senders) {
		err = errors.Join(err, <-errs)
	}
	return err
}

// pieceHeader is the length of the message, which each piece begins with.
const pieceHeader = 8

// send sends a message to a rank, in pieces.
func (t *tree) send(ctx context.Context, to int, message []byte) error {
	s := t.senders[to]
	total := uint64(len(message))
	most := (min(s.MaxMessage(), pieceSize) - pieceHeader) &^ 7 // whole numbers
	for {
		n := min(most, len(message))
		var lease channel.Lease
		err := t.await(ctx, func() (err error) {
			lease, err = s.TryReserve(pieceHeader + n)
			return err
		})
		if err != nil {
			return fmt.Errorf("to rank %d: %w", to, err)
		}
		binary.LittleEndian.PutUint64(lease.Bytes(), total)
		copy(lease.Bytes()[pieceHeader:], message[:n])
		if err := lease.Commit(pieceHeader + n); err != nil {
			return fmt.Errorf("to rank %d: %w", to, err)
		}
		if message = message[n:]; len(message) == 0 {
			return nil
		}
	}
}

// receive takes a message of a rank, which has to be as long as into; take is given
// each piece, and where it is in the message.
func (t *tree) receive(ctx context.Context, from int, length int, take func(offset int, piece []byte)) error {
	rcv := t.receivers[from]
	for first, offset := true, 0; first || offset < length; first = false {
		var m channel.Message
		err := t.await(ctx, func() (err error) {
			m, err = rcv.TryReceive()
			return err
		})
		if err != nil {
			return fmt.Errorf("from rank %d: %w", from, err)
		}
		piece := m.Bytes()
		if len(piece) < pieceHeader || len(piece) == pieceHeader && length > 0 || binary.LittleEndian.Uint64(piece) != uint64(length) || len(piece)-pieceHeader > length-offset {
			m.Release()
			return fmt.Errorf("from rank %d: %w", from, ErrMismatch)
		}
		take(offset, piece[pieceHeader:])
		offset += len(piece) - pieceHeader
		m.Release()
	}
	return nil
}

// await makes progress until try has another error than that it would block.
func (t *tree) await(ctx context.Context, try func() error) (err error) {
	other := t.g.await(ctx, time.Time{}, func() bool {
		err = try()
		return !errors.Is(err, channel.ErrWouldBlock)
	})
	if other != nil {
		return other
	}
	return err
}

// parent is whom a rank has its message from in the binomial tree of a root.
func parent(rank, root, size int) int {
	rel := (rank - root + size) % size
	return (rel&(rel-1) + root) % size
}

// children are whom it sends it to, the one with the largest subtree first.
func children(rank, root, size int) (list []int) {
	rel := (rank - root + size) % size
	lowest := bits.TrailingZeros(uint(rel))
	if rel == 0 {
		lowest = bits.Len(uint(size - 1))
	}
	for k := lowest - 1; k >= 0; k-- {
		if child := rel | 1<<k; child < size {
			list = append(list, (child+root)%size)
		}
	}
	return list
}

// bcast sends a message down the tree.
func (t *tree) bcast(ctx context.Context, root int, buf []byte) error {
	rank, size := t.g.rank, t.g.size
	if rank != root {
		err := t.receive(ctx, parent(rank, root, size), len(buf), func(offset int, piece []byte) { copy(buf[offset:], piece) })
		if err != nil {
			return err
		}
	}
	for _, child := range children(rank, root, size) {
		if err := t.send(ctx, child, buf); err != nil {
			return err
		}
	}
	return nil
}

// barrier passes words on, to twice as far in each round.
func (t *tree) barrier(ctx context.Context) error {
	rank, size := t.g.rank, t.g.size
	for apart := 1; apart < size; apart *= 2 {
		if err := t.send(ctx, (rank+apart)%size, nil); err != nil {
			return err
		}
		if err := t.receive(ctx, (rank-apart+size)%size, 0, func(int, []byte) {}); err != nil {
			return err
		}
	}
	return nil
}

// Close closes all ends.
func (t *tree) Close() (err error) {
	for _, s := range t.senders {
		err = errors.Join(err, s.Close())
	}
	for _, r := range t.receivers {
		err = errors.Join(err, r.Close())
	}
	if t.transport != nil {
		err = errors.Join(err, t.transport.Close())
	}
	return err
}
