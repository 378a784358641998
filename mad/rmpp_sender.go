package mad

import (
	"fmt"
	"math"
	"time"
)

// RMPPSender sends one message.
type RMPPSender struct {
	options RMPPOptions
	message []byte
	offset  int // of the data in message and in each segment

	count  uint32 // segments
	acked  uint32 // the last segment of those that the peer has all of
	sent   uint32 // the last segment that was ever sent
	next   uint32 // the segment to send
	window uint32 // the last segment that may be sent
	mended uint32 // acked when the segment behind it was sent again, plus 1

	retries  int // left
	started  bool
	heard    bool // of the peer
	deadline time.Duration
	end      time.Duration
	over     bool
	err      error
}

// NewRMPPSender sends a message: the headers of its class, and data of any
// length behind them. The message must not change until the sender is over.
func NewRMPPSender(message []byte, o RMPPOptions) (*RMPPSender, error) {
	if err := need("message by RMPP", message, headerLen); err != nil {
		return nil, err
	}
	offset, ok := RMPPOffset(Class(message[1]))
	if !ok {
		return nil, fmt.Errorf("class %s does not use RMPP", Class(message[1]))
	}
	if err := need("message by RMPP", message, offset); err != nil {
		return nil, err
	}
	count := max(1, (len(message)-offset+Size-offset-1)/(Size-offset))
	if count > math.MaxUint32/rmppPayload {
		return nil, fmt.Errorf("message of %d bytes is too long for RMPP", len(message))
	}
	o = o.withDefaults()
	return &RMPPSender{
		options: o, message: message, offset: offset, count: uint32(count),
		next: 1, window: 1, retries: o.Retries,
	}, nil
}

// Over tells whether the sender has nothing more to do: Err says how it ended.
func (s *RMPPSender) Over() bool { return s.over }

// Err is a *RMPPError where the transfer failed, nil where the peer has all.
func (s *RMPPSender) Err() error { return s.err }

// Deadline is when Step is due without a datagram; ok is false when it is over.
func (s *RMPPSender) Deadline() (at time.Duration, ok bool) {
	return min(s.deadline, s.end), !s.over
}

// Step takes what came, or nil, and appends what is to be sent to out: at most
// RMPPOptions.Window + 2 datagrams. The time must not go back.
func (s *RMPPSender) Step(now time.Duration, in *Datagram, out []Datagram) []Datagram {
	if !s.started {
		s.started = true
		s.end = now + s.options.Total
		s.deadline = now
	}
	if in != nil && !s.over {
		out = s.take(now, in, out)
	}
	if !s.over {
		out = s.watch(now, out)
	}
	return s.fill(now, out)
}

// take takes a datagram of the peer.
func (s *RMPPSender) take(now time.Duration, in *Datagram, out []Datagram) []Datagram {
	h := in.RMPP()
	if h.Flags&RMPPActive == 0 || h.Type == RMPPData && h.Version == RMPPVersion {
		return out // of another transfer
	}
	s.heard = true
	switch {
	case h.Type == RMPPStop || h.Type == RMPPAbort:
		s.finish(&RMPPError{Status: h.Status, ByPeer: true})
		return out
	case h.Version != RMPPVersion:
		return s.Abort(RMPPBadVersion, out)
	case h.Type != RMPPAck:
		return s.Abort(RMPPBadType, out)
	case h.Status != RMPPOK:
		return s.Abort(RMPPBadStatus, out)
	default:
		return s.takeAck(now, h.Data1, h.Data2, out)
	}
}

// takeAck takes an ACK of all segments to segment, which lets us send to window.
func (s *RMPPSender) takeAck(now time.Duration, segment, window uint32, out []Datagram) []Datagram {
	switch {
	case segment > s.sent:
		return s.Abort(RMPPSegmentTooBig, out)
	case window < segment:
		return s.Abort(RMPPWindowTooSmall, out)
	case segment < s.acked:
		return out // came late
	}
	if segment > s.acked {
		s.acked, s.next = segment, max(s.next, segment+1)
		s.retries = s.options.Retries
		s.deadline = now + s.options.Timeout
	}
	s.window = max(s.window, window)
	if s.acked == s.count {
		s.finish(nil)
		return s.turn(out)
	}
	return s.mend(now, out)
}

// mend sends again what is missing where an ACK ends before what was sent: a
// peer that has all so far waits for the end of its window.
func (s *RMPPSender) mend(now time.Duration, out []Datagram) []Datagram {
	if s.acked+1 >= s.next || s.mended == s.acked+1 {
		return out
	}
	s.mended = s.acked + 1
	return s.send(now, s.acked+1, out)
}

// turn ends a request whose answer comes by RMPP: an ACK of nothing tells the
// peer that it may send (IBTA 1, 13.6.4).
func (s *RMPPSender) turn(out []Datagram) []Datagram {
	if !s.options.DualSided {
		return out
	}
	out = append(out, Datagram{})
	out[len(out)-1].rmppHeaders(s.message, s.offset, RMPPHeader{Type: RMPPAck, Data2: 1})
	return out
}

// watch starts again behind the last ACK when its time is over.
func (s *RMPPSender) watch(now time.Duration, out []Datagram) []Datagram {
	switch {
	case now >= s.end:
		return s.Abort(RMPPTimeTooLong, out)
	case now < s.deadline || s.sent == 0:
		return out
	case s.retries == 0 || s.alone():
		return s.Abort(RMPPTooManyRetries, out)
	}
	s.retries--
	s.next, s.mended = s.acked+1, 0
	return out
}

// alone tells whether the peer may be one that knows nothing of RMPP.
func (s *RMPPSender) alone() bool { return s.options.Once && !s.heard }

// fill sends what the window allows.
func (s *RMPPSender) fill(now time.Duration, out []Datagram) []Datagram {
	last := min(s.count, s.window, s.acked+uint32(s.options.Window))
	for !s.over && s.next <= last {
		out = s.send(now, s.next, out)
		s.next++
	}
	return out
}

// send appends a segment.
func (s *RMPPSender) send(now time.Duration, segment uint32, out []Datagram) []Datagram {
	out = append(out, Datagram{})
	d := &out[len(out)-1]
	size := Size - s.offset
	rest := s.message[s.offset+int(segment-1)*size:]
	h := RMPPHeader{Type: RMPPData, Data1: segment}
	if segment == 1 {
		h.Flags |= RMPPFirst
		h.Data2 = uint32(len(s.message)-s.offset) + s.count*uint32(s.offset-offRMPP-rmppHeaderLen)
	}
	if segment == s.count {
		h.Flags |= RMPPLast
		h.Data2 = uint32(len(rest) + s.offset - offRMPP - rmppHeaderLen)
	}
	d.rmppHeaders(s.message, s.offset, h)
	copy(d[s.offset:], rest)
	s.sent = max(s.sent, segment)
	s.deadline = now + s.options.Timeout
	return out
}

// Abort ends the transfer, if it is not over, and tells the peer why, if that
// may be told.
func (s *RMPPSender) Abort(status RMPPStatus, out []Datagram) []Datagram {
	if s.over {
		return out
	}
	s.finish(&RMPPError{Status: status})
	if s.alone() {
		return out
	}
	out = append(out, Datagram{})
	out[len(out)-1].rmppHeaders(s.message, s.offset, RMPPHeader{Type: RMPPAbort, Status: status})
	return out
}

func (s *RMPPSender) finish(err error) {
	s.over, s.err, s.message = true, err, s.message[:s.offset:s.offset]
}
