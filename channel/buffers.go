package channel

import (
	"fmt"

	"heddle/ib"
	"heddle/verbs"
)

// buffers are slots that receives are posted of, and what came to them.
type buffers struct {
	end    *end
	memory *region
	stride int
	// post posts a receive, to a queue pair or to all.
	post func(*verbs.RecvWR) error
	// shared has a buffer of a failed receive posted again, as others can use it.
	shared bool
	peers  map[ib.QPN]*Peer

	came        []arrival // that were not delivered, by number
	first, next uint64
	held        []bool // by slot: it was delivered
	recv        verbs.RecvWR
	wcs         [16]verbs.WC
}

// arrival is a message in its buffer.
type arrival struct {
	slot, length, imm uint32
	hasImm            bool
	source            int
}

func (e *end) newBuffers() (*buffers, error) {
	stride := padded(e.cfg.Size)
	memory, err := e.newSlots(e.cfg.Slots*stride, verbs.LocalWrite)
	if err != nil {
		return nil, err
	}
	return &buffers{
		end: e, memory: memory, stride: stride, peers: map[ib.QPN]*Peer{},
		came: make([]arrival, e.cfg.Slots), held: make([]bool, e.cfg.Slots), recv: verbs.RecvWR{SGEs: make([]verbs.SGE, 1)},
	}, nil
}

// postAll posts all buffers.
func (b *buffers) postAll() error {
	for i := range b.held {
		if err := b.postOne(i); err != nil {
			return err
		}
	}
	return nil
}

func (b *buffers) postOne(slot int) error {
	b.recv.ID, b.recv.SGEs[0] = uint64(slot), b.memory.mr.SGE(slot*b.stride, b.end.cfg.Size)
	return b.post(&b.recv)
}

// poll gives the next message, if there is one.
func (b *buffers) poll(d *delivery) (ok bool, err error) {
	if b.first == b.next {
		_, err = b.collect()
	}
	if b.first == b.next {
		return false, err
	}
	a := &b.came[b.first%uint64(len(b.came))]
	b.first++
	b.held[a.slot] = true
	at := int(a.slot) * b.stride
	*d = delivery{
		data: b.memory.b[at : at+int(a.length) : at+b.stride], source: a.source, token: uint64(a.slot), imm: a.imm, hasImm: a.hasImm,
	}
	return true, nil
}

// collect takes completions, and tells how many there were.
func (b *buffers) collect() (n int, err error) {
	n, err = b.end.recvs.Poll(b.wcs[:])
	for i := range b.wcs[:n] {
		b.take(&b.wcs[i])
	}
	return n, err
}

// take keeps a message until it is delivered. After one that is none its peer is
// gone.
func (b *buffers) take(wc *verbs.WC) {
	p, err := b.peers[wc.QPN], wc.Err()
	switch {
	case p == nil:
		err = ErrPeerGone
	case err == nil && wc.Op != verbs.OpRecv:
		err = fmt.Errorf("a receive was taken by %v: %w", wc.Op, ErrInvalid)
	}
	if err == nil {
		b.came[b.next%uint64(len(b.came))] = arrival{
			uint32(wc.ID), min(wc.ByteLen, uint32(b.end.cfg.Size)), wc.Imm, wc.Flags&verbs.WithImm != 0, p.index,
		}
		b.next++
		return
	}
	if p != nil {
		p.lose(err)
	}
	if b.shared {
		_ = b.postOne(int(wc.ID)) // there is room, as it was there before
	}
}

// release posts a buffer again, whose message was delivered.
func (b *buffers) release(slot uint64) bool {
	if slot >= uint64(len(b.held)) || !b.held[slot] {
		return false
	}
	b.held[slot] = false
	return b.postOne(int(slot)) == nil
}
