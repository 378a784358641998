package channel

import (
	"errors"
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// Shared ring with an immediate: a FETCH_AND_ADD, and a WRITE_WITH_IMM whose
// immediate is where in the ring the record begins, the low 32 bits of the number
// of its first cell. Records complete in any order. The receiver keeps in a table
// of the ring's cells which have, and delivers them in the order of their places.
//
//	[facts][message, padded]
//
// A place without a message has a WRITE_WITH_IMM of the facts only.
//
// The receives have no buffers, and are of all senders together, so that they do
// not grow with the number of these; see send-shared for what comes of it. Each is
// posted again as soon as its completion was looked at.

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
	s.wr.Imm = uint32(s.claim.pos)
	return s.used(s.put(n))
}

type sharedImmReceiver struct {
	*sharedRing
	srq   verbs.SRQ
	slots int
	peers map[ib.QPN]*Peer
	came  []uint32 // by cell: 1 more than whose record has come there
	recv  verbs.RecvWR
	wcs   [16]verbs.WC
}

func newSharedImmReceiver(e *end) (_ receiving, err error) {
	r := &sharedImmReceiver{slots: e.cfg.Slots, peers: map[ib.QPN]*Peer{}}
	if r.sharedRing, err = newSharedRing(e, nil); err != nil {
		return nil, err
	}
	r.came = make([]uint32, r.cells)
	r.wipe = func(from, to uint64) {
		for ; from < to; from++ {
			r.came[from%r.cells] = 0
		}
	}
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

func (r *sharedImmReceiver) watch() watch { return watch{cq: r.end.recvs} }

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
	pos := r.pos + uint64(wc.Imm-uint32(r.pos))
	came := &r.came[pos%r.cells]
	switch {
	case wc.Op != verbs.OpRecvWriteImm || wc.ByteLen < 8:
		_ = r.spoilt(fmt.Sprintf("%v of %d bytes", wc.Op, wc.ByteLen), p.index)
	case pos-r.ledger.head >= r.cells || *came != 0:
		_ = r.spoilt(fmt.Sprintf("a record for cell %d", pos), p.index)
	default:
		*came = uint32(p.index) + 1
	}
}

func (r *sharedImmReceiver) poll(d *delivery) error {
	for r.failed == nil {
		came := &r.came[r.pos%r.cells]
		if *came == 0 {
			if n, err := r.collect(); err != nil {
				return err
			} else if n == 0 {
				return r.nothing()
			}
			continue
		}
		source := int(*came - 1)
		*came = 0
		f := facts(load(r.ring.b, int(r.at())))
		switch {
		case f.isBuried():
			if err := r.skip(f.cells()); err != nil {
				return err
			}
		case !r.holds(f, 8) || f.slot() != source:
			return r.spoilt("a record without a message", source)
		default:
			*d = r.message(f, 8, source)
			return nil
		}
	}
	return r.failed
}
