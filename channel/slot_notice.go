package channel

import (
	"errors"

	"heddle/verbs"
)

// Slots whose receiver learns of each message by a completion, of its number and
// length. Messages are delivered in the order of their numbers, whichever completes
// first. Each takes a receive; there is one for each slot, which is posted again
// before the slot is given back, so that a sender with a free slot always finds
// one.

// slotNotice is what a completion tells of a message.
type slotNotice struct {
	number, length, imm uint32
	hasImm              bool
}

// noticedReceiver is what the receivers of such slots share.
type noticedReceiver struct {
	*slotReceiver
	// tells reads a completion; false is one that no sender makes.
	tells  func(*verbs.WC) (slotNotice, bool)
	notes  *region // of the receives, noteSize each; nil where they have none
	recv   verbs.RecvWR
	failed error // of posting the receives
	came   []slotNotice
	there  []bool // by number: came has the message
	wcs    [16]verbs.WC
}

// noteSize is how much a SEND tells of a message.
const noteSize = 16

func newNoticedReceiver(e *end) (*noticedReceiver, error) {
	r, err := newSlotReceiver(e, 0)
	if err != nil {
		return nil, err
	}
	return &noticedReceiver{
		slotReceiver: r, came: make([]slotNotice, len(r.held)), there: make([]bool, len(r.held)),
	}, nil
}

func (r *noticedReceiver) queues() queues {
	q := r.slotReceiver.queues()
	q.recv = len(r.held)
	return q
}

func (r *noticedReceiver) offer(p *Peer, h *hello) {
	r.slotReceiver.offer(p, h)
	if r.attached {
		return
	}
	for i := range uint64(len(r.held)) {
		if r.failed = r.post(i); r.failed != nil {
			return
		}
	}
}

func (r *noticedReceiver) attach(p *Peer, h *hello) error {
	return errors.Join(r.failed, r.slotReceiver.attach(p, h))
}

func (r *noticedReceiver) watch() watch { return watch{cq: r.end.recvs} }

func (r *noticedReceiver) post(id uint64) error {
	r.recv.ID = id
	if r.notes != nil {
		r.recv.SGEs = append(r.recv.SGEs[:0], r.notes.mr.SGE(noteSize*int(id), noteSize))
	}
	return r.peer.qp.PostRecv(&r.recv)
}

func (r *noticedReceiver) poll(d *delivery) error {
	for {
		i := r.next % uint64(len(r.came))
		if r.there[i] {
			*d = r.take(i)
			return nil
		}
		n, err := r.end.recvs.Poll(r.wcs[:])
		if err != nil {
			return err
		}
		if n == 0 {
			return r.nothing()
		}
		for i := range r.wcs[:n] {
			r.notice(&r.wcs[i])
		}
	}
}

// take delivers the message whose notice is at i.
func (r *noticedReceiver) take(i uint64) delivery {
	r.there[i] = false
	slot, _ := r.vacant.slot(r.next)
	d := r.deliver(slot, 0, int(r.came[i].length))
	d.imm, d.hasImm = r.came[i].imm, r.came[i].hasImm
	return d
}

// notice takes a completion in. After one that makes no sense, or tells of an
// error, the peer is gone; what came before is delivered.
func (r *noticedReceiver) notice(wc *verbs.WC) {
	if err := wc.Err(); err != nil {
		r.peer.lose(err)
		return
	}
	x, ok := r.tells(wc)
	number := r.next + uint64(x.number-uint32(r.next))
	i := number % uint64(len(r.came))
	_, open := r.vacant.slot(number)
	if !ok || !open || r.there[i] || uint64(x.length) > uint64(r.end.cfg.Size) {
		_ = r.spoilt("a notice of no message")
		return
	}
	r.came[i], r.there[i] = x, true
	if r.peer.gone != nil {
		return
	}
	if err := r.post(wc.ID); err != nil {
		r.peer.lose(err)
	}
}

func (r *noticedReceiver) free() error { return errors.Join(r.slotReceiver.free(), r.notes.free()) }
