package channel

import (
	"errors"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// Shared ring with an immediate: a FETCH_AND_ADD, and a WRITE_WITH_IMM whose
// immediate is the cell of the ring where the record begins, in 25 bits, and above
// them 7 bits of the number of the epoch. Records complete in any order. The
// receiver keeps in a table of the ring's cells which have, and delivers them in the
// order of their places.
//
//	[facts][message, padded]
//
// A place without a message has a WRITE_WITH_IMM of the facts only.
//
// The receives have no buffers, and are of all senders together, so that they do
// not grow with the number of these; see send-shared for what comes of it. Each is
// posted again as soon as its completion was looked at.

// immShift is where the epoch is in an immediate: cells of 64 bytes of a ring of
// 2 GiB, which is the largest, take 25 bits.
const immShift = 25

type sharedImmSender struct{ *sharedRingSender }

func newSharedImmSender(e *end) (sending, error) {
	base, err := e.newSharedRingSender(1)
	if err != nil {
		return nil, err
	}
	s := &sharedImmSender{base}
	s.wr.Op = verbs.OpWriteImm
	s.bury = func() error { return s.record(8, factsOf(0, s.claim.cells, s.slot)|buriedFact) }
	return s, nil
}

func (s *sharedImmSender) most() int { return s.longest(16) }

func (s *sharedImmSender) reserve(n int) ([]byte, error) {
	size := padded(n) + 8
	b, err := s.lend(wholeCells(size), size)
	if err != nil {
		return nil, err
	}
	return b[8 : 8+n : size], nil
}

func (s *sharedImmSender) commit(n int, _ *uint32) error {
	if _, err := s.take(0); err != nil {
		return err
	}
	return s.record(8+n, s.facts(n))
}

// record writes a record of so many bytes.
func (s *sharedImmSender) record(n int, f facts) error {
	b, err := s.stage.take(n)
	if err != nil {
		return err
	}
	store(b, 0, uint64(f))
	s.wr.Imm = uint32(s.claim.pos%s.cells) | uint32(s.epoch)<<immShift
	return s.used(s.put(n))
}

type sharedImmReceiver struct {
	*sharedRing
	srq   verbs.SRQ
	slots int
	peers map[ib.QPN]*Peer
	recv  verbs.RecvWR
	wcs   [16]verbs.WC
}

func newSharedImmReceiver(e *end) (receiving, error) {
	r := &sharedImmReceiver{sharedRing: &sharedRing{}, slots: e.cfg.Slots, peers: map[ib.QPN]*Peer{}}
	r.furnish = func(c *ringEpoch) error {
		c.came = make([]uint32, c.cells)
		return nil
	}
	r.rung = func(c *ringEpoch, pos uint64) bool { return r.from(c, pos) != 0 }
	r.read, r.wipe, r.more = r.record, r.clear, r.collected
	if err := r.setUp(e); err != nil {
		return nil, err
	}
	var err error
	if r.srq, err = e.t.pd.CreateSRQ(verbs.SRQAttr{WR: r.slots, SGE: 1}); err != nil {
		return nil, errors.Join(err, r.sharedRing.free())
	}
	for range r.slots {
		if err := r.srq.PostRecv(&r.recv); err != nil {
			return nil, errors.Join(err, r.free())
		}
	}
	return r, nil
}

// clear forgets the records of what is given back.
func (r *sharedImmReceiver) clear(c *ringEpoch, from, to uint64) {
	for ; from < to; from++ {
		c.came[from%c.cells] = 0
	}
}

func (r *sharedImmReceiver) queues() queues {
	q, peers := r.sharedRing.queues(), r.end.cfg.Peers
	q.recv, q.srq, q.notReady = (r.slots+peers-1)/peers, r.srq, notReadyTime
	return q
}

func (r *sharedImmReceiver) offer(p *Peer, h *hello) {
	r.sharedRing.offer(p, h)
	r.peers[p.qp.QPN()] = p
}

// part takes what came from a peer, and the receive that its queue pair has, before
// that is closed.
func (r *sharedImmReceiver) part(p *Peer) {
	_ = p.qp.Modify(verbs.Err) // closing it does the same, but for the receive
	for n := 1; n > 0; {
		n, _ = r.collect()
	}
	delete(r.peers, p.qp.QPN())
}

func (r *sharedImmReceiver) free() error { return errors.Join(r.srq.Close(), r.sharedRing.free()) }

// watch looks again after a while where a record is owed.
func (r *sharedImmReceiver) watch() watch {
	if r.owes() {
		return watch{}
	}
	return watch{cq: r.end.recvs}
}

func (r *sharedImmReceiver) collected() (bool, error) {
	n, err := r.collect()
	return n > 0, err
}

// collect takes completions, and tells how many there were.
func (r *sharedImmReceiver) collect() (n int, err error) {
	n, err = r.end.recvs.Poll(r.wcs[:])
	for i := range r.wcs[:n] {
		r.take(&r.wcs[i])
		_ = r.srq.PostRecv(&r.recv) // there is room, as it was there before
	}
	return n, err
}

// take notes that a record has come.
func (r *sharedImmReceiver) take(wc *verbs.WC) {
	p := r.peers[wc.QPN]
	switch {
	case p == nil || r.failed != nil:
		return
	case wc.Status != verbs.StatusOK:
		p.lose(wc.Err())
		return
	}
	c := r.epochOf(wc.Imm)
	cell := wc.Imm & (1<<immShift - 1)
	switch {
	case wc.Op != verbs.OpRecvWriteImm || wc.ByteLen < 8:
		_ = r.spoilt(fmt.Sprintf("%v of %d bytes", wc.Op, wc.ByteLen), p.index, r.now.pos)
	case c == nil: // it was freed meanwhile
	case uint64(cell) >= c.cells || c.came[cell] != 0:
		_ = r.spoilt(fmt.Sprintf("a record to cell %d", cell), p.index, c.pos)
	default:
		c.came[cell] = uint32(p.index) + 1
	}
}

// epochOf is the ring that an immediate tells, nil if there is none.
func (r *sharedImmReceiver) epochOf(imm uint32) *ringEpoch {
	is := func(c *ringEpoch) bool { return uint32(c.number)<<immShift == imm>>immShift<<immShift }
	if is(r.now) {
		return r.now
	}
	for _, c := range r.closed {
		if is(c) {
			return c
		}
	}
	return nil
}

// from tells whose record has come to a place, by 1 more than its number. In a
// ring that is full the cell has that of the lap before.
func (r *sharedImmReceiver) from(c *ringEpoch, pos uint64) uint32 {
	if pos-c.ledger.head >= c.cells {
		return 0
	}
	return c.came[pos%c.cells]
}

func (r *sharedImmReceiver) record(c *ringEpoch, pos uint64) (rec record, ok bool) {
	came := r.from(c, pos)
	if came == 0 {
		return rec, false
	}
	f := facts(load(c.ring.b, int(c.at(pos))))
	switch {
	case f.isBuried():
		rec = c.skipped(uint32(f.cells()), pos)
	case f.slot() != int(came-1):
		rec = record{facts: f, wrong: "a record of another one"}
	default:
		rec = c.record(f, pos, 8, 8)
	}
	rec.source = int(came - 1)
	return rec, true
}
