package engine

import (
	"encoding/binary"
	"math"
	"time"

	"heddle/packet"
	"heddle/verbs"
)

// requestOf is the request that a packet is of.
func (q *QP) requestOf(seq uint64) uint64 {
	number := q.done
	for number < q.begun {
		if f := q.flight(number); seq < f.first+uint64(f.packets) {
			break
		}
		number++
	}
	return number
}

// rewind has all be sent again from the first packet that was not answered.
func (q *QP) rewind() {
	q.at, q.sent = q.requestOf(q.unacked), 0
	if q.at < q.begun {
		q.sent = int(q.unacked - q.flight(q.at).first)
	}
	q.asks.first = q.asks.next
}

// answered takes an acknowledgement, or the data of a READ or an atomic.
func (q *QP) answered(h *packet.Headers, payload []byte) {
	seq, ok := unwire(h.BTH.PSN, q.initial, q.unacked)
	if !ok || seq >= q.highest {
		return
	}
	switch h.BTH.Opcode.Operation() {
	case packet.Acknowledge:
		q.acknowledged(h.AETH, seq)
	case packet.AtomicAcknowledge:
		var b [8]byte
		binary.NativeEndian.PutUint64(b[:], h.Result)
		q.data(seq, true, b[:])
	default:
		q.data(seq, false, payload)
	}
	q.settle()
}

// acknowledged takes an acknowledgement, positive or not.
func (q *QP) acknowledged(a packet.AETH, seq uint64) {
	kind := a.Syndrome.Kind()
	if kind == packet.AckCredits {
		if !q.upTo(seq + 1) {
			q.missed()
		}
		return
	}
	if seq < q.unacked || !q.upTo(seq) {
		return // late, or answers before it are missing: it comes again
	}
	switch {
	case kind == packet.RNR:
		q.rest(rnrTime(a.Syndrome.Value()), seq)
	case a.Syndrome == packet.NAKSequence:
		if !q.resting {
			q.engine.Stats.Gaps++
			q.rewind()
		}
	case a.Syndrome == packet.NAKInvalid:
		q.stop(q.requestOf(seq), verbs.StatusRemoteInvalidRequest)
	case a.Syndrome == packet.NAKAccess:
		q.stop(q.requestOf(seq), verbs.StatusRemoteAccess)
	case a.Syndrome == packet.NAKOperation:
		q.stop(q.requestOf(seq), verbs.StatusRemoteOperation)
	}
}

// upTo takes in that the peer has executed all before a packet; false is that an
// answer with data is missing, before which it stops.
func (q *QP) upTo(seq uint64) bool {
	for number := q.requestOf(q.unacked); q.unacked < seq; number++ {
		if number == q.begun || q.sends.At(number).Op.Reads() {
			return false
		}
		f := q.flight(number)
		q.progress(min(seq, f.first+uint64(f.packets)))
	}
	return true
}

// progress takes in that packets were answered.
func (q *QP) progress(to uint64) {
	q.unacked = to
	q.asks.before(to)
	q.retries, q.rnrs, q.gap = 0, 0, false
	if q.resting {
		return
	}
	if q.passed() {
		q.rewind()
	}
	if q.unacked < q.highest {
		q.wait(q.engine.now + q.Attr.Timeout)
	} else {
		q.wait(0)
	}
}

// passed tells whether what is to be sent next was answered meanwhile.
func (q *QP) passed() bool {
	return q.at < q.begun && q.flight(q.at).first+uint64(q.sent) < q.unacked
}

// missed has what is missing be sent again, once.
func (q *QP) missed() {
	if !q.gap && !q.resting {
		q.gap = true
		q.engine.Stats.Gaps++
		q.rewind()
	}
}

// data takes what a READ or an atomic brings: in order only.
func (q *QP) data(seq uint64, atomic bool, b []byte) {
	if seq < q.unacked {
		return
	}
	if !q.upTo(seq) {
		q.missed()
		return
	}
	number := q.requestOf(seq)
	wr, f := q.sends.At(number), q.flight(number)
	offset := int(seq-f.first) * q.mtu
	length := min(q.mtu, f.length-offset)
	switch {
	case !wr.Op.Reads() || wr.Op.Atomic() != atomic || len(b) != length:
		q.stop(number, verbs.StatusBadResponse)
	case !q.scatter(wr.SGEs, offset, b):
		q.stop(number, verbs.StatusLocalProtection)
	default:
		q.progress(seq + 1)
	}
}

// scatter puts bytes to a list of memory, from an offset on; false is that it may
// not be written, or is too short.
func (q *QP) scatter(sges []verbs.SGE, offset int, b []byte) bool {
	for _, s := range sges {
		if len(b) == 0 {
			return true
		}
		if offset >= int(s.Length) {
			offset -= int(s.Length)
			continue
		}
		to, status := q.engine.cfg.Regions.Local(q.pd, s, verbs.LocalWrite)
		if status != verbs.StatusOK {
			return false
		}
		n := min(len(to)-offset, len(b))
		place(to[offset:offset+n], b[:n])
		b, offset = b[n:], 0
	}
	return len(b) == 0
}

// rest waits until the peer has a receive.
func (q *QP) rest(d time.Duration, seq uint64) {
	if q.resting {
		return
	}
	if most := int(q.Attr.RNRRetries.Count()); most < 7 && q.rnrs == most {
		q.stop(q.requestOf(seq), verbs.StatusRNRRetryExceeded)
		return
	}
	q.rnrs++
	q.retries = 0 // the peer is there
	q.resting = true
	q.wait(q.engine.now + d)
}

// timedOut sends again what was not answered for too long.
func (q *QP) timedOut() {
	q.engine.Stats.Timeouts++
	if q.retries == int(q.Attr.Retries.Count()) {
		q.halt = math.MaxUint64
		q.failed(verbs.StatusRetryExceeded)
		return
	}
	q.retries++
	q.gap = false
	q.rewind()
	q.Pump()
	if q.deadline == 0 {
		q.wait(q.engine.now + q.Attr.Timeout)
	}
}

// rnrTimes are the RNR timers by their codes, in units of 10 µs (IBTA 9.7.5.2.8).
var rnrTimes = [32]uint32{
	65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192,
	256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
}

func rnrTime(code uint8) time.Duration {
	return time.Duration(rnrTimes[code&31]) * 10 * time.Microsecond
}

// rnrCode is the code of the shortest timer that is not shorter.
func rnrCode(d time.Duration) uint8 {
	for code := 1; code < 32; code++ {
		if rnrTime(uint8(code)) >= d {
			return uint8(code)
		}
	}
	return 0
}
