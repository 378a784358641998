package collective

import (
	"context"
	"errors"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// datagrams sends to the multicast group, and receives from it.
type datagrams struct {
	g              *Group
	depth          int // buffers
	inline         int // bytes of a datagram that the call copies
	sendCQ, recvCQ verbs.CQ
	qp             verbs.QP
	ah             verbs.AH
	to             Multicast
	wcs            []verbs.WC
	wr             verbs.SendWR
	recv           verbs.RecvWR
	signals        uint64 // datagrams to one completion
	posted, sent   uint64 // datagrams: given to the device, and those that it is done with
}

const (
	// sends is how many datagrams the device has at most.
	sends = 64
	// signals is how many there are to one completion at most.
	signals = 16
	// multicastQPN is whom datagrams to groups are for (IBTA 10.5.1).
	multicastQPN ib.QPN = 0xffffff
)

func newDatagrams(g *Group, depth int) (*datagrams, error) {
	d := &datagrams{g: g, depth: depth, wcs: make([]verbs.WC, 32), signals: uint64(max(1, min(signals, g.cfg.Slots/4)))}
	d.wr = verbs.SendWR{Op: verbs.OpSend, SGEs: make([]verbs.SGE, 1), RemoteQPN: multicastQPN}
	d.recv.SGEs = make([]verbs.SGE, 1)
	var err error
	if d.sendCQ, err = g.dev.CreateCQ(verbs.CQAttr{Depth: sends}); err != nil {
		return nil, err
	}
	if d.recvCQ, err = g.dev.CreateCQ(verbs.CQAttr{Depth: depth}); err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return d, nil
}

// join brings this rank into the group, ready to receive.
func (d *datagrams) join(ctx context.Context, joiner Joiner) (err error) {
	if d.to, err = joiner.Join(ctx); err != nil {
		return fmt.Errorf("join: %w", err)
	}
	d.qp, err = d.g.pd.CreateQP(verbs.QPAttr{
		Type: verbs.UD, SendCQ: d.sendCQ, RecvCQ: d.recvCQ, SendWR: sends, RecvWR: d.depth,
		QKey: d.to.QKey, SL: d.to.SL, BlockLoopback: d.g.caps.BlockLoopback, Inline: min(callInline, d.g.caps.MaxInline),
	})
	if err != nil {
		return fmt.Errorf("queue pair of %v: %w", d.to.Group, err)
	}
	d.inline = d.qp.Attr().Inline
	if err := d.qp.Connect(ctx, nil); err != nil {
		return err
	}
	for i := range d.depth {
		if err := d.repost(i); err != nil {
			return fmt.Errorf("buffer %d: %w", i, err)
		}
	}
	if err := d.qp.Attach(d.to.Group, d.to.LID); err != nil {
		return fmt.Errorf("attach to %v: %w", d.to.Group, err)
	}
	hops := max(d.to.HopLimit, 1)
	if d.ah, err = d.g.pd.CreateAH(verbs.AHAttr{GID: d.to.Group.GID(), MLID: d.to.LID, SL: d.to.SL, HopLimit: hops}); err != nil {
		return fmt.Errorf("address of %v: %w", d.to.Group, err)
	}
	d.wr.AH, d.wr.RemoteQKey = d.ah, d.to.QKey
	return nil
}

func (d *datagrams) buffer(i int) part {
	n := grh + d.g.cfg.Chunk
	return d.g.buffers.slice(i*n, n)
}

// repost gives a buffer to the device.
func (d *datagrams) repost(i int) error {
	d.recv.ID = number(datagramRecv, 0, i, 0)
	d.recv.SGEs[0] = d.buffer(i).sge()
	return d.qp.PostRecv(&d.recv)
}

// poll takes what came. What makes no sense is dropped: anybody may send to a group.
func (d *datagrams) poll() {
	for d.qp != nil {
		n, err := d.recvCQ.Poll(d.wcs)
		if err != nil {
			d.g.fail(fmt.Errorf("datagrams: %w", err))
			return
		}
		for i := range d.wcs[:n] {
			d.received(&d.wcs[i])
		}
		if n < len(d.wcs) {
			return
		}
	}
}

func (d *datagrams) received(wc *verbs.WC) {
	_, _, i, _ := numbered(wc.ID)
	if err := wc.Err(); err != nil {
		d.g.fail(fmt.Errorf("datagrams: %w", err))
		return
	}
	if n := int(wc.ByteLen); n > grh {
		d.g.datagram(d.buffer(i).bytes[grh:n])
	}
	if err := d.repost(i); err != nil {
		d.g.fail(fmt.Errorf("datagrams: %w", err))
	}
}

// datagram is given a slot that came.
func (g *Group) datagram(b []byte) {
	var h header
	payload, err := h.parse(b)
	switch {
	case err != nil || h.group != g.number || int(h.root) >= g.size || int(h.root) == g.rank:
	case h.flags&noticeFlag != 0:
		g.ready = g.ready || h.root == 0
	case h.flags&(callFlag|answerFlag) != 0:
		if p := g.peers[h.root]; p != nil && h.total == uint64(g.rank) && whole(b, payload) {
			if h.flags&callFlag != 0 {
				g.called(p, h.seq, payload)
			} else {
				g.answered(p, h.seq, payload)
			}
		}
	case g.streams[h.root] != nil:
		g.streams[h.root].arrived(&h, b[:headerSize+len(payload)])
	}
}

// full tells whether the device has all that it may.
func (d *datagrams) full() bool {
	if d.posted-d.sent < sends {
		return false
	}
	d.reap()
	return d.posted-d.sent >= sends
}

// reap takes completions of datagrams.
func (d *datagrams) reap() {
	n, err := d.sendCQ.Poll(d.wcs)
	if err != nil {
		d.g.fail(fmt.Errorf("datagrams: %w", err))
	}
	for i := range d.wcs[:n] {
		if err := d.wcs[i].Err(); err != nil {
			d.g.fail(fmt.Errorf("datagrams: %w", err))
		}
		d.sent += d.signals
	}
}

// send sends a slot; full was false.
func (d *datagrams) send(slot part) {
	d.wr.SGEs[0], d.wr.Flags = slot.sge(), 0
	d.post(&d.wr)
}

// post sends a datagram; full was false.
func (d *datagrams) post(wr *verbs.SendWR) {
	if d.posted%d.signals == d.signals-1 {
		wr.Flags |= verbs.Signaled
	}
	if err := d.qp.PostSend(wr); err != nil {
		d.g.fail(fmt.Errorf("send to %v: %w", d.to.Group, err))
		return
	}
	d.posted++
	d.g.stats.datagrams.Add(1)
}

// Close ends it.
func (d *datagrams) Close() (err error) {
	if d.qp != nil {
		err = d.qp.Close()
	}
	if d.ah != nil {
		err = errors.Join(err, d.ah.Close())
	}
	if d.sendCQ != nil {
		err = errors.Join(err, d.sendCQ.Close())
	}
	if d.recvCQ != nil {
		err = errors.Join(err, d.recvCQ.Close())
	}
	return err
}

// again is how long rank 0 waits for the answers to its notice.
const again = 2 * time.Millisecond

// announce has rank 0 wait until the group is ready, and tell all others by the
// group itself. A notice that is lost is repeated; who hears none asks rank 0.
func (g *Group) announce(ctx context.Context) error {
	if g.rank != 0 {
		return g.hearNotice(ctx)
	}
	if err := g.cfg.Joiner.Ready(ctx); err != nil {
		return fmt.Errorf("wait until %v is ready: %w", g.ud.to.Group, err)
	}
	g.ready = true
	setMark(g.readyMark().bytes, 1)
	h := header{group: g.number, flags: noticeFlag}
	h.appendTo(g.notice.bytes[:0], nil)
	began := time.Now()
	for missing := g.silent(); len(missing) > 0; missing = g.silent() {
		if g.cfg.Evict > 0 && time.Since(began) > g.cfg.Evict {
			g.giveUp(missing)
			return nil
		}
		if !g.ud.full() {
			g.ud.send(g.notice.slice(0, headerSize))
		}
		if err := g.await(ctx, time.Now().Add(again), func() bool { return len(g.silent()) == 0 }); err != nil {
			return fmt.Errorf("ranks %v did not answer the notice: %w", missing, err)
		}
	}
	return nil
}

// giveUp goes on without ranks that do not answer.
func (g *Group) giveUp(ranks []int) {
	for _, r := range ranks {
		if g.source != nil {
			g.source.evict(r)
		}
	}
}

// readyMark is where rank 0 says that the group is ready.
func (g *Group) readyMark() part { return g.haves.slice(len(g.cfg.Roots)*markSize, markSize) }

// silent are the ranks that have not answered.
func (g *Group) silent() (ranks []int) {
	for r := range g.size {
		if _, ok := mark(g.tails.bytes[r*markSize:]); !ok && r != g.rank {
			ranks = append(ranks, r)
		}
	}
	return ranks
}

// hearNotice waits for the notice, and answers.
func (g *Group) hearNotice(ctx context.Context) error {
	zero, at := g.peers[0], len(g.cfg.Roots)*2*markSize
	for pause := again; !g.ready; pause = min(2*pause, 64*again) {
		if err := g.await(ctx, time.Now().Add(pause), func() bool { return g.ready }); err != nil {
			return fmt.Errorf("wait for the notice of rank 0: %w", err)
		}
		if !g.ready && !g.asking {
			g.asking = g.post(zero, &verbs.SendWR{
				ID: number(readyRead, 0, 0, 0), Op: verbs.OpRead, Flags: verbs.Signaled, SGEs: []verbs.SGE{g.marks.slice(at, markSize).sge()},
				RemoteAddr: zero.haves.at(len(g.cfg.Roots) * markSize), RKey: zero.haves.RKey,
			})
		}
	}
	if g.asking {
		if err := g.await(ctx, time.Time{}, func() bool { return !g.asking }); err != nil {
			return err
		}
	}
	b := g.marks.slice(at+markSize, markSize)
	setMark(b.bytes, 0)
	g.asking = g.post(zero, &verbs.SendWR{
		ID: number(readyRead, 0, 0, 0), Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{b.sge()},
		RemoteAddr: zero.tails.at(g.rank * markSize), RKey: zero.tails.RKey,
	})
	return g.await(ctx, time.Time{}, func() bool { return !g.asking })
}

// heardReady is the answer of rank 0, or that it has this rank's.
func (g *Group) heardReady(err error) {
	g.asking = false
	if err != nil {
		g.fail(&Error{Op: "new group", Rank: g.rank, Peer: 0, Err: gone(err)})
		return
	}
	v, ok := mark(g.marks.bytes[len(g.cfg.Roots)*2*markSize:])
	g.ready = g.ready || ok && v == 1
}

// gone makes of a failed request that the peer is.
func gone(err error) error { return fmt.Errorf("%w: %w", ErrPeerGone, err) }
