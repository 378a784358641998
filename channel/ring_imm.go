package channel

import "heddle/verbs"

// Ring with an immediate: a message is one WRITE_WITH_IMM, and all that the
// receiver needs is in its completion: the immediate is the message's number, and
// its length is there anyway. (The authors' code has the length or the offset in
// the immediate; with the number messages may complete in any order, and those
// without bytes are told apart.)

type ringImmSender struct{ *noticeSender }

func newRingImmSender(e *end) (sending, error) {
	s := &ringImmSender{newNoticeSender(e)}
	s.wr.Op = verbs.OpWriteImm
	return s, nil
}

func (s *ringImmSender) most() int { return s.longest(0) }

func (s *ringImmSender) reserve(n int) ([]byte, error) {
	return s.lendFor(n, n, 1)
}

func (s *ringImmSender) commit(n int, _ *uint32) error {
	if _, err := s.stage.take(n); err != nil {
		return err
	}
	s.wr.Imm = uint32(s.number)
	if err := s.write(s.at, n); err != nil {
		return err
	}
	s.sent(n)
	return nil
}

type ringImmReceiver struct{ *noticeReceiver }

func newRingImmReceiver(e *end) (receiving, error) {
	r, err := newNoticeReceiver(e)
	if err != nil {
		return nil, err
	}
	r.tells = func(wc *verbs.WC) (uint32, uint64, bool) {
		return wc.Imm, uint64(wc.ByteLen), wc.Op == verbs.OpRecvWriteImm && wc.Flags&verbs.WithImm != 0
	}
	return &ringImmReceiver{r}, nil
}
