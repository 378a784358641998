package channel

import "heddle/verbs"

// Slot with an immediate: one WRITE_WITH_IMM of the message to the beginning of its
// slot, of exactly its bytes; the immediate is the message's number, which tells the
// slot, and its length is in the completion.

type slotImmSender struct{ *slotSender }

func newSlotImmSender(e *end) (sending, error) {
	return &slotImmSender{newSlotSender(e, verbs.OpWriteImm, 0)}, nil
}

func (s *slotImmSender) reserve(n int) ([]byte, error) { return s.lend(n, 0, 1) }

func (s *slotImmSender) commit(n int, _ *uint32) error {
	if _, err := s.stage.take(n); err != nil {
		return err
	}
	s.wr.Imm = uint32(s.open.taken)
	if err := s.write(0, n); err != nil {
		return err
	}
	s.open.take()
	return nil
}

type slotImmReceiver struct{ *noticedReceiver }

func newSlotImmReceiver(e *end) (receiving, error) {
	r, err := newNoticedReceiver(e)
	if err != nil {
		return nil, err
	}
	r.tells = func(wc *verbs.WC) (slotNotice, bool) {
		return slotNotice{number: wc.Imm, length: wc.ByteLen}, wc.Op == verbs.OpRecvWriteImm && wc.Flags&verbs.WithImm != 0
	}
	return &slotImmReceiver{r}, nil
}
