package umad

import (
	"encoding/binary"
	"fmt"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// What stands before a datagram in a read or write of the kernel's umad device
// (Linux, include/uapi/rdma/ib_user_mad.h, with P_Key index): the agent, what
// became of the datagram, and the address. Numbers are of the host's byte
// order, but those that travel of the network's.
const (
	offAgent     = 0
	offStatus    = 4
	offTimeout   = 8
	offRetries   = 12
	offLength    = 16
	offQPN       = 20
	offQKey      = 24
	offLID       = 28
	offSL        = 30
	offPathBits  = 31
	offHasGRH    = 32
	offGIDIndex  = 33
	offHopLimit  = 34
	offTraffic   = 35
	offGID       = 36
	offFlow      = 52
	offPKeyIndex = 56
	frameLen     = 64 // the datagram starts here

	madHeaderLen    = 24 // what is left of a request that timed out
	vendorHeaderLen = 40 // of the headers before the data, with that of RMPP
	rmppFlagsByte   = 26 // in a datagram
	rmppActive      = 1
)

// frame is that header.
type frame struct {
	agent   uint32
	status  uint32 // an error number of Linux, 0 for none
	timeout uint32 // milliseconds; 0 for what waits for no answer
	retries uint32
	length  uint32 // of frame and datagram together; the kernel sets it
	addr    Address
}

// appendTo appends the 64 bytes of the frame.
func (f frame) appendTo(b []byte) []byte {
	b = append(b, make([]byte, frameLen)...)
	h, host, wire := b[len(b)-frameLen:], binary.NativeEndian, binary.BigEndian
	host.PutUint32(h[offAgent:], f.agent)
	host.PutUint32(h[offStatus:], f.status)
	host.PutUint32(h[offTimeout:], f.timeout)
	host.PutUint32(h[offRetries:], f.retries)
	host.PutUint32(h[offLength:], f.length)
	wire.PutUint32(h[offQPN:], uint32(f.addr.QPN))
	wire.PutUint32(h[offQKey:], uint32(f.addr.QKey))
	wire.PutUint16(h[offLID:], uint16(f.addr.LID))
	h[offSL], h[offPathBits] = byte(f.addr.SL), f.addr.PathBits
	host.PutUint16(h[offPKeyIndex:], f.addr.PKeyIndex)
	f.addr.GRH.put(h)
	return b
}

// put writes the global route, if there is one, into a frame.
func (g *GRH) put(h []byte) {
	if g == nil {
		return
	}
	h[offHasGRH], h[offGIDIndex] = 1, g.GIDIndex
	h[offHopLimit], h[offTraffic] = g.HopLimit, g.TrafficClass
	copy(h[offGID:], g.GID[:])
	binary.BigEndian.PutUint32(h[offFlow:], g.FlowLabel)
}

// parseFrame reads the frame at the start of b.
func parseFrame(b []byte) (frame, error) {
	if len(b) < frameLen {
		return frame{}, fmt.Errorf("umad frame of %d bytes, needs %d: %w", len(b), frameLen, mad.ErrShort)
	}
	host, wire := binary.NativeEndian, binary.BigEndian
	return frame{
		agent:   host.Uint32(b[offAgent:]),
		status:  host.Uint32(b[offStatus:]),
		timeout: host.Uint32(b[offTimeout:]),
		retries: host.Uint32(b[offRetries:]),
		length:  host.Uint32(b[offLength:]),
		addr: Address{
			LID: ib.LID(wire.Uint16(b[offLID:])), QPN: ib.QPN(wire.Uint32(b[offQPN:])),
			QKey: ib.QKey(wire.Uint32(b[offQKey:])), SL: ib.SL(b[offSL]), PathBits: b[offPathBits],
			PKeyIndex: host.Uint16(b[offPKeyIndex:]), GRH: parseFrameGRH(b),
		},
	}, nil
}

// parseFrameGRH reads the global route of a frame, nil where it has none.
func parseFrameGRH(b []byte) *GRH {
	if b[offHasGRH] == 0 {
		return nil
	}
	return &GRH{
		GID: ib.GID(b[offGID : offGID+16]), GIDIndex: b[offGIDIndex], HopLimit: b[offHopLimit],
		TrafficClass: b[offTraffic], FlowLabel: binary.BigEndian.Uint32(b[offFlow:]),
	}
}

// milliseconds is a timeout as the kernel takes it: rounded up, so that none
// becomes 0, which would mean that no answer is awaited.
func milliseconds(d time.Duration) uint32 {
	const most = (1<<31 - 1) * time.Millisecond
	return uint32((min(max(d, 0), most) + time.Millisecond - 1) / time.Millisecond)
}
