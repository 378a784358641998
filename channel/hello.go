package channel

import (
	"encoding/binary"
	"fmt"
)

// remote is memory of a peer.
type remote struct {
	addr, length uint64
	rkey         uint32
}

// holds tells whether it has n bytes.
func (r remote) holds(n uint64) bool { return n <= r.length }

// hello is what an end tells a peer about itself: how its memory is laid out, if
// it is the end that messages lie at, and how its queue pair is reached. It is a
// secret, as keys of memory are in it.
type hello struct {
	kind     uint16
	sends    bool // of a sender
	forced   bool
	paired   bool // of a duplex whose messages tell of room
	slots    uint32
	size     uint32 // the longest message
	ring     uint64
	salt     uint64 // of sealed words
	slot     uint32 // which of several that one end has is the peer's
	regions  []remote
	endpoint []byte
}

// Limits of a hello, so that a hostile peer's costs little.
const (
	maxRegions  = 4
	maxEndpoint = 1 << 12
	helloSize   = 2 + 1 + 4 + 4 + 8 + 8 + 4 + 1
	regionSize  = 8 + 8 + 4
)

// bytes is a hello as it is sent.
func (h *hello) bytes() (b []byte) {
	var flags byte
	if h.sends {
		flags |= 1
	}
	if h.forced {
		flags |= 2
	}
	if h.paired {
		flags |= 4
	}
	le := binary.LittleEndian
	b = le.AppendUint16(b, h.kind)
	b = append(b, flags)
	b = le.AppendUint32(b, h.slots)
	b = le.AppendUint32(b, h.size)
	b = le.AppendUint64(b, h.ring)
	b = le.AppendUint64(b, h.salt)
	b = le.AppendUint32(b, h.slot)
	b = append(b, byte(len(h.regions)))
	for _, r := range h.regions {
		b = le.AppendUint64(b, r.addr)
		b = le.AppendUint64(b, r.length)
		b = le.AppendUint32(b, r.rkey)
	}
	return append(b, h.endpoint...)
}

// parseHello reads one; what comes after the regions is the endpoint.
func parseHello(b []byte) (*hello, error) {
	bad := func(what string) error { return fmt.Errorf("peer's hello: %s: %w", what, ErrInvalid) }
	if len(b) < helloSize {
		return nil, bad(fmt.Sprintf("%d bytes", len(b)))
	}
	le := binary.LittleEndian
	h := &hello{
		kind: le.Uint16(b), sends: b[2]&1 != 0, forced: b[2]&2 != 0, paired: b[2]&4 != 0,
		slots: le.Uint32(b[3:]), size: le.Uint32(b[7:]), ring: le.Uint64(b[11:]), salt: le.Uint64(b[19:]), slot: le.Uint32(b[27:]),
	}
	n := int(b[31])
	switch {
	case b[2] > 7:
		return nil, bad("unknown flags")
	case n > maxRegions:
		return nil, bad(fmt.Sprintf("%d regions", n))
	case h.slots > maxSlots || h.size > maxRing/2 || h.ring > maxRing:
		return nil, bad("sizes out of range")
	}
	b = b[helloSize:]
	if len(b) < n*regionSize || len(b)-n*regionSize > maxEndpoint {
		return nil, bad("its length")
	}
	for range n {
		r := remote{le.Uint64(b), le.Uint64(b[8:]), le.Uint32(b[16:])}
		if r.addr+r.length < r.addr {
			return nil, bad("a region that wraps")
		}
		h.regions = append(h.regions, r)
		b = b[regionSize:]
	}
	h.endpoint = append([]byte(nil), b...)
	return h, nil
}
