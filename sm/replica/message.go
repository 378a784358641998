package replica

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"heddle/sm/store"
)

// The errors of what a peer sent.
var (
	// ErrMessage means that bytes are not a message.
	ErrMessage = errors.New("not a message of a replica")
	// ErrVersion means that the peer speaks another version.
	ErrVersion = errors.New("another version of the protocol")
)

// protocolVersion is in the first message of each side.
const protocolVersion = 1

// kind is the first byte of a message.
type kind uint8

const (
	kindHello  kind = 1 + iota // version, role, epoch, position
	kindStatus                 // role, epoch, position
	kindFollow                 // position
	kindAck                    // position
	kindPart                   // position, last, a part of the encoded batch
)

// message is what nodes tell each other.
type message struct {
	kind  kind
	role  Role
	epoch uint64 // the highest that was promised to
	at    store.Position
	last  bool // part of a batch
	part  []byte
}

// partLen is the size of the parts that a batch is split into, and headLen at
// least what a message has beside them.
const (
	partLen = 1 << 18
	headLen = 64
)

// appendTo appends the message, without its length.
func (m *message) appendTo(b []byte) []byte {
	b = append(b, byte(m.kind))
	switch m.kind {
	case kindHello:
		b = append(b, protocolVersion)
		fallthrough
	case kindStatus:
		b = append(b, byte(m.role))
		b = binary.AppendUvarint(b, m.epoch)
		return appendPosition(b, m.at)
	case kindPart:
		b = append(appendPosition(b, m.at), boolByte(m.last))
		return append(b, m.part...)
	default:
		return appendPosition(b, m.at)
	}
}

func boolByte(v bool) byte {
	if v {
		return 1
	}
	return 0
}

func appendPosition(b []byte, p store.Position) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, p.Index), p.Epoch)
}

// parseMessage reads a message that is all of b, and refers to b afterwards.
func parseMessage(b []byte) (message, error) {
	d := decoder{rest: b}
	m := message{kind: kind(d.byte())}
	switch m.kind {
	case kindHello:
		if version := d.byte(); d.err == nil && version != protocolVersion {
			return message{}, fmt.Errorf("%w: %d, want %d", ErrVersion, version, protocolVersion)
		}
		d.status(&m)
	case kindStatus:
		d.status(&m)
	case kindFollow, kindAck:
		m.at = d.position()
	case kindPart:
		m.at = d.position()
		m.last = d.flag()
		m.part, d.rest = d.rest, nil
	default:
		d.fail(fmt.Sprintf("kind %d", m.kind))
	}
	if d.err == nil && len(d.rest) > 0 {
		d.fail("too long")
	}
	if d.err != nil {
		return message{}, d.err
	}
	return m, nil
}

// decoder reads values until the first that is cut off.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) {
	if d.err == nil {
		d.err, d.rest = fmt.Errorf("%w: %s", ErrMessage, what), nil
	}
}

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail("cut off")
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) flag() bool {
	b := d.byte()
	if b > 1 {
		d.fail("flag out of range")
	}
	return b == 1
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail("number cut off or too long")
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) position() store.Position {
	return store.Position{Index: d.uvarint(), Epoch: d.uvarint()}
}

func (d *decoder) status(m *message) {
	m.role = Role(d.byte())
	if m.role > Leader {
		d.fail("role out of range")
	}
	m.epoch, m.at = d.uvarint(), d.position()
}

// appendFrame appends the message with its length before it, four bytes.
func (m *message) appendFrame(b []byte) []byte {
	start := len(b)
	b = m.appendTo(append(b, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b
}

// readFrame reads one message; buffer holds it, and grows as far as a frame
// may.
func readFrame(r io.Reader, buffer []byte) (message, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return message{}, buffer, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > partLen+headLen {
		return message{}, buffer, fmt.Errorf("%w: frame of %d bytes, at most %d", ErrMessage, n, partLen+headLen)
	}
	if cap(buffer) < int(n) {
		buffer = make([]byte, n)
	}
	buffer = buffer[:n]
	if _, err := io.ReadFull(r, buffer); err != nil {
		return message{}, buffer, err
	}
	m, err := parseMessage(buffer)
	return m, buffer, err
}
