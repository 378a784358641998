package mad

import "time"

// RMPPReceiver receives one message.
type RMPPReceiver struct {
	options RMPPOptions

	// reply holds the headers of what the peer is sent; offset is 0 before the
	// first segment.
	reply  Datagram
	offset int

	message   []byte // the headers, and all data to the last segment that is here
	announced uint32 // payload of all segments together, by the first one; 0 if unknown
	here      []bool // by segment modulo the window: those behind complete that came
	complete  uint32 // the last segment of those that came all
	highest   uint32 // the last segment that came
	window    uint32 // the last segment that the peer may send
	last      uint32 // the last of the message, 0 before it came
	payload   uint32 // of the last segment
	gap       uint32 // complete when the segment behind it was missed, plus 1

	started  bool
	deadline time.Duration
	end      time.Duration
	over     bool
	err      error
}

// NewRMPPReceiver waits for the first segment.
func NewRMPPReceiver(o RMPPOptions) *RMPPReceiver {
	o = o.withDefaults()
	return &RMPPReceiver{options: o, window: 1, here: make([]bool, o.Window)}
}

// Over tells whether the message is complete or the transfer failed. A receiver
// that is over still answers a peer that repeats itself, as its last ACK may be
// lost.
func (r *RMPPReceiver) Over() bool { return r.over }

// Err is a *RMPPError where the transfer failed.
func (r *RMPPReceiver) Err() error { return r.err }

// Size is the number of bytes that the receiver holds.
func (r *RMPPReceiver) Size() int { return cap(r.message) }

// Message is the complete message: the headers of the first segment, and
// exactly the data of all. It is the caller's, and the receiver's no more. It
// is nil before the receiver is over, and after a failure.
func (r *RMPPReceiver) Message() []byte {
	if !r.over {
		return nil
	}
	m := r.message
	r.message = nil
	return m
}

// Deadline is when Step is due without a datagram; ok is false when it is over.
func (r *RMPPReceiver) Deadline() (at time.Duration, ok bool) {
	return min(r.deadline, r.end), !r.over
}

// Step takes what came, or nil, and appends what is to be sent to out: at most
// one datagram. The time must not go back.
func (r *RMPPReceiver) Step(now time.Duration, in *Datagram, out []Datagram) []Datagram {
	if !r.started {
		r.started = true
		r.end = now + r.options.Total
		r.deadline = now + r.options.Idle
	}
	if in != nil {
		out = r.take(now, in, out)
	}
	if _, running := r.Deadline(); running && now >= min(r.deadline, r.end) {
		return r.Abort(RMPPTimeTooLong, out)
	}
	return out
}

// take takes a datagram of the peer.
func (r *RMPPReceiver) take(now time.Duration, in *Datagram, out []Datagram) []Datagram {
	h := in.RMPP()
	offset, ok := RMPPOffset(in.Class())
	switch {
	case !ok || h.Flags&RMPPActive == 0 || r.offset != 0 && r.offset != offset:
		return out
	case h.Type == RMPPAck && h.Version == RMPPVersion:
		return out // of another transfer
	case h.Type == RMPPStop || h.Type == RMPPAbort:
		r.failed(&RMPPError{Status: h.Status, ByPeer: true})
		return out
	}
	if r.over {
		return r.repeat(h, out)
	}
	if r.offset == 0 {
		r.begin(in, offset)
	}
	if status := r.check(h); status != RMPPOK {
		return r.Abort(status, out)
	}
	return r.store(now, h, in[offset:], out)
}

// begin keeps the headers for what the peer is sent.
func (r *RMPPReceiver) begin(in *Datagram, offset int) {
	r.offset = offset
	r.reply.rmppHeaders(in[:offset], offset, RMPPHeader{})
	r.reply.SetMethod(in.Method() ^ responseBit)
	r.message = append(r.message, in[:offset]...)
}

// repeat answers a peer that does not know that the transfer is over.
func (r *RMPPReceiver) repeat(h RMPPHeader, out []Datagram) []Datagram {
	if r.err != nil || h.Type != RMPPData {
		return out
	}
	return r.ack(out)
}

// check tells what is wrong with a segment, by itself and with those before.
func (r *RMPPReceiver) check(h RMPPHeader) RMPPStatus {
	first, last := h.Flags&RMPPFirst != 0, h.Flags&RMPPLast != 0
	switch {
	case h.Version != RMPPVersion:
		return RMPPBadVersion
	case h.Type != RMPPData:
		return RMPPBadType
	case h.Status != RMPPOK:
		return RMPPBadStatus
	case h.Data1 == 0 || first != (h.Data1 == 1):
		return RMPPBadFirst
	case last && (h.Data2 < r.classHeader() || h.Data2 > rmppPayload):
		return RMPPBadLength
	case last && (h.Data1 < r.highest || r.last != 0 && r.last != h.Data1):
		return RMPPBadLength
	case !last && r.last != 0 && h.Data1 >= r.last:
		return RMPPBadLength
	case r.tooLong(h):
		return RMPPResources
	default:
		return RMPPOK
	}
}

// classHeader is the length of the class's own header, which each segment
// repeats.
func (r *RMPPReceiver) classHeader() uint32 { return uint32(r.offset - offRMPP - rmppHeaderLen) }

// tooLong tells whether a segment is, or announces, more than we take.
func (r *RMPPReceiver) tooLong(h RMPPHeader) bool {
	size := Size - r.offset
	segments := int64(h.Data1)
	if h.Data1 == 1 && h.Flags&RMPPLast == 0 {
		segments = (int64(h.Data2) + rmppPayload - 1) / rmppPayload
	}
	return (segments-1)*int64(size) >= int64(r.options.MaxBytes)
}

// store keeps a segment that may come, and says what the peer has to know.
func (r *RMPPReceiver) store(now time.Duration, h RMPPHeader, data []byte, out []Datagram) []Datagram {
	segment := h.Data1
	switch {
	case segment > r.window:
		return out
	case segment <= r.complete:
		return r.ack(out)
	case *r.slot(segment):
		return out
	}
	*r.slot(segment) = true
	r.highest = max(r.highest, segment)
	r.deadline = now + r.options.Idle
	r.note(h)
	r.put(segment, data)
	return r.advance(out)
}

func (r *RMPPReceiver) slot(segment uint32) *bool { return &r.here[int(segment)%len(r.here)] }

// note keeps what the first and the last segment say of the length.
func (r *RMPPReceiver) note(h RMPPHeader) {
	if h.Flags&RMPPLast != 0 {
		r.last, r.payload = h.Data1, h.Data2
	} else if h.Data1 == 1 {
		r.announced = h.Data2
	}
}

// put copies data to its place.
func (r *RMPPReceiver) put(segment uint32, data []byte) {
	at := r.offset + int(segment-1)*len(data)
	if missing := at + len(data) - len(r.message); missing > 0 {
		r.message = append(r.message, make([]byte, missing)...)
	}
	copy(r.message[at:], data)
}

// advance moves on over the segments that are here, and sends an ACK where the
// peer waits for one: at the end of the window and of the message, and, so that
// the peer need not wait, where a segment is missing.
func (r *RMPPReceiver) advance(out []Datagram) []Datagram {
	before := r.complete
	for r.complete < r.highest && *r.slot(r.complete + 1) {
		r.complete++
		*r.slot(r.complete) = false
	}
	switch {
	case r.complete == r.last:
		return r.finish(out)
	case r.complete == r.window:
		r.window += uint32(r.options.Window)
		return r.ack(out)
	case r.complete < r.highest && (r.complete > before || r.gap != r.complete+1):
		r.gap = r.complete + 1
		return r.ack(out)
	default:
		return out
	}
}

// finish ends the transfer with all segments here.
func (r *RMPPReceiver) finish(out []Datagram) []Datagram {
	if total := (r.last-1)*rmppPayload + r.payload; r.last > 1 && r.announced != 0 && r.announced != total {
		return r.Abort(RMPPBadLength, out)
	}
	r.over = true
	r.message = r.message[:r.offset+int(r.last-1)*(Size-r.offset)+int(r.payload-r.classHeader())]
	return r.ack(out)
}

func (r *RMPPReceiver) ack(out []Datagram) []Datagram {
	return r.send(out, RMPPHeader{Type: RMPPAck, Data1: r.complete, Data2: max(r.window, r.complete)})
}

// Abort ends the transfer, if it is not over, and tells the peer why, if there
// is one.
func (r *RMPPReceiver) Abort(status RMPPStatus, out []Datagram) []Datagram {
	if r.over {
		return out
	}
	r.failed(&RMPPError{Status: status})
	if r.offset == 0 {
		return out
	}
	kind := RMPPAbort
	if status == RMPPResources {
		kind = RMPPStop
	}
	return r.send(out, RMPPHeader{Type: kind, Status: status})
}

func (r *RMPPReceiver) send(out []Datagram, h RMPPHeader) []Datagram {
	out = append(out, r.reply)
	h.Version, h.RespTime, h.Flags = RMPPVersion, RMPPNoRespTime, RMPPActive
	out[len(out)-1].SetRMPP(h)
	return out
}

func (r *RMPPReceiver) failed(err error) {
	if !r.over {
		r.over, r.err, r.message = true, err, nil
	}
}
