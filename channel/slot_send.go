package channel

import (
	"encoding/binary"
	"errors"

	"heddle/verbs"
)

// Slot with a SEND: a WRITE of the message to the beginning of its slot, of exactly
// its bytes, and a SEND that tells its number and length, and completes after what
// was sent before it is in memory. It is for networks without immediates. The SEND
// has room for a number beside the message, which thus needs nothing of the device.

type slotSendSender struct {
	*slotSender
	note verbs.SendWR
}

func newSlotSendSender(e *end) (sending, error) {
	s := &slotSendSender{slotSender: newSlotSender(e, verbs.OpWrite, 0)}
	s.note = verbs.SendWR{Op: verbs.OpSend, SGEs: make([]verbs.SGE, 1)}
	return s, nil
}

func (s *slotSendSender) reserve(n int) ([]byte, error) { return s.lend(n, noteSize, 2) }

func (s *slotSendSender) commit(n int, imm *uint32) error {
	b, err := s.stage.take(padded(n) + noteSize)
	if err != nil {
		return err
	}
	if err := s.peer.ready(2); err != nil {
		return err
	}
	x := slotNotice{number: uint32(s.open.taken), length: uint32(n), hasImm: imm != nil}
	if imm != nil {
		x.imm = *imm
	}
	x.put(b[padded(n):])
	if err := s.write(0, n); err != nil {
		return err
	}
	s.open.take()
	return s.stage.send(&s.note, noteSize)
}

// put writes what is told of a message.
func (x slotNotice) put(b []byte) {
	binary.LittleEndian.PutUint32(b, x.number)
	binary.LittleEndian.PutUint32(b[4:], x.length)
	binary.LittleEndian.PutUint32(b[8:], x.imm)
	has := uint32(0)
	if x.hasImm {
		has = 1
	}
	binary.LittleEndian.PutUint32(b[12:], has)
}

// slotNoticeOf reads it.
func slotNoticeOf(b []byte) (x slotNotice, ok bool) {
	has := binary.LittleEndian.Uint32(b[12:])
	return slotNotice{
		binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:]), has == 1,
	}, has <= 1
}

type slotSendReceiver struct{ *noticedReceiver }

func newSlotSendReceiver(e *end) (_ receiving, err error) {
	r, err := newNoticedReceiver(e)
	if err != nil {
		return nil, err
	}
	if r.notes, err = e.newRegion(noteSize*len(r.held), false, verbs.LocalWrite); err != nil {
		return nil, errors.Join(err, r.free())
	}
	r.tells = func(wc *verbs.WC) (slotNotice, bool) {
		x, ok := slotNoticeOf(r.notes.b[noteSize*int(wc.ID) : noteSize*int(wc.ID)+noteSize])
		return x, ok && wc.Op == verbs.OpRecv && wc.ByteLen == noteSize
	}
	return &slotSendReceiver{r}, nil
}
