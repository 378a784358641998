package collective

import (
	"context"
	"fmt"
	"time"

	"heddle/verbs"
)

// What a completion is of is in the request's number: a kind, the rank of the root,
// an index, and the rank of the peer.
type kind uint8

const (
	slotRead kind = iota + 1 // chunks of a stream
	markRead                 // how many chunks there are
	tailWrite
	readyRead
	datagramSend
	datagramRecv
)

func number(k kind, rank, index, to int) uint64 {
	return uint64(k)<<56 | uint64(uint16(rank))<<40 | uint64(index&0xff_ffff)<<16 | uint64(uint16(to))
}

func numbered(id uint64) (k kind, rank, index, to int) {
	return kind(id >> 56), int(uint16(id >> 40)), int(id >> 16 & 0xff_ffff), int(uint16(id))
}

// progress takes what came, and does what follows from it. It does not wait.
func (g *Group) progress() {
	if g.ud != nil {
		g.ud.poll()
		g.call()
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
	k, rank, index, of := numbered(wc.ID)
	if k != datagramSend && k != datagramRecv {
		g.peers[of].posted--
	}
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
	for range spins {
		if g.progress(); g.err != nil || ready() {
			return g.err
		}
	}
	look := func() bool { // allocated by who has to wait only
		g.progress()
		return g.err != nil || ready()
	}
	for {
		end := until
		if at := g.nextCall(); !at.IsZero() && (end.IsZero() || at.Before(end)) {
			end = at
		}
		late, err := g.awaitUntil(ctx, end, look)
		switch {
		case g.err != nil:
			return g.err
		case err != nil || !late:
			return err
		case !until.IsZero() && !time.Now().Before(until):
			return nil
		}
	}
}

// awaitUntil waits, and tells whether a moment came first that is not zero.
func (g *Group) awaitUntil(ctx context.Context, until time.Time, look func() bool) (late bool, err error) {
	within := ctx
	if !until.IsZero() {
		var cancel context.CancelFunc
		within, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	err = g.dev.Await(within, look)
	switch {
	case err == nil:
		return false, nil
	case ctx.Err() != nil:
		return false, context.Cause(ctx)
	case within.Err() != nil:
		return true, nil
	}
	return false, err
}

// post gives a request to a peer's queue pair; one that cannot be taken means that
// the connection has ended.
func (g *Group) post(p *peer, wr *verbs.SendWR) bool {
	if p.gone || p.down {
		return false
	}
	if err := p.qp.PostSend(wr); err != nil {
		g.broke(p)
		return false
	}
	p.posted++
	return true
}

// turn is a lock, held while an operation waits: a channel, so that who waits for it
// in a testing/synctest bubble lets time go on.
type turn chan struct{}

func (t turn) take() { t <- struct{}{} }
func (t turn) give() { <-t }

// begin is at the beginning of an operation. Without an error it is the caller's turn.
func (g *Group) begin(op string) error {
	g.turn.take()
	err := g.err
	if g.closed.Load() {
		err = ErrClosed
	}
	if err != nil {
		g.turn.give()
		return &Error{Op: op, Rank: g.rank, Peer: -1, Err: err}
	}
	return nil
}

// attend makes progress while no operation does, when datagrams come: chunks go to
// their rings, and who calls is answered.
func (g *Group) attend(ctx context.Context) {
	for {
		if g.ud.recvCQ.Arm(false) != nil {
			return
		}
		g.turn.take()
		g.progress()
		g.turn.give()
		if g.ud.recvCQ.Wait(ctx) != nil {
			return
		}
	}
}
