package collective

import (
	"context"
	"fmt"
	"time"

	"heddle/verbs"
)

// What a completion is of is in the request's number: a kind, a rank, and an index.
type kind uint8

const (
	slotRead kind = iota + 1 // chunks of a stream
	markRead                 // how many chunks there are
	tailWrite
	readyRead
	datagramSend
	datagramRecv
)

func number(k kind, rank, index int) uint64 {
	return uint64(k)<<56 | uint64(uint16(rank))<<32 | uint64(uint32(index))
}

func numbered(id uint64) (k kind, rank, index int) {
	return kind(id >> 56), int(uint16(id >> 32)), int(uint32(id))
}

// progress takes what came, and does what follows from it. It does not wait.
func (g *Group) progress() {
	if g.ud != nil {
		g.ud.poll()
	}
	if g.rc == nil {
		return
	}
	for {
		n, err := g.rc.Poll(g.wcs)
		if err != nil {
			g.fail(fmt.Errorf("poll: %w", err))
			return
		}
		for i := range g.wcs[:n] {
			g.completed(&g.wcs[i])
		}
		if n < len(g.wcs) {
			return
		}
	}
}

// completed is told of a request to a peer.
func (g *Group) completed(wc *verbs.WC) {
	k, rank, index := numbered(wc.ID)
	switch k {
	case slotRead:
		g.streams[rank].fetched(index, wc.Err())
	case markRead:
		g.streams[rank].asked(wc.Err())
	case tailWrite:
		g.streams[rank].told(wc.Err())
	case readyRead:
		g.heardReady(wc.Err())
	case datagramSend, datagramRecv:
	}
}

// fail ends the group.
func (g *Group) fail(err error) {
	if g.err == nil {
		g.err = err
	}
}

// spins is how often is looked before a wait is prepared.
const spins = 64

// await makes progress until ready, or a moment that is not zero; which one it was,
// the caller sees for itself.
func (g *Group) await(ctx context.Context, until time.Time, ready func() bool) error {
	look := func() bool {
		g.progress()
		return g.err != nil || ready()
	}
	for range spins {
		if look() {
			return g.err
		}
	}
	within := ctx
	if !until.IsZero() {
		var cancel context.CancelFunc
		within, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	err := g.dev.Await(within, look)
	switch {
	case g.err != nil:
		return g.err
	case err == nil || ctx.Err() == nil && within.Err() != nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return err
}

// post gives a request to a peer's queue pair; one that cannot be taken means that
// the peer is gone.
func (g *Group) post(p *peer, wr *verbs.SendWR) bool {
	if p.gone {
		return false
	}
	if err := p.qp.PostSend(wr); err != nil {
		p.gone = true
		return false
	}
	return true
}

// begin is at the beginning of an operation.
func (g *Group) begin(op string) error {
	if g.closed.Load() {
		return &Error{Op: op, Rank: g.rank, Peer: -1, Err: ErrClosed}
	}
	if g.err != nil {
		return &Error{Op: op, Rank: g.rank, Peer: -1, Err: g.err}
	}
	return nil
}
