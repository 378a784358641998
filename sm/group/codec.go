package group

import (
	"encoding/binary"
	"errors"
	"fmt"

	"heddle/ib"
)

// ErrEncoding means that bytes are not an encoded entry.
var ErrEncoding = errors.New("not an encoded entry")

// entryVersion is the first byte of an encoded entry. A version that changes
// what follows gets another number.
const entryVersion = 1

// Fields of an entry, as a set that follows its kind in the encoding.
const (
	fieldMGID = 1 << iota
	fieldMLID
	fieldPort
	fieldRequester
	fieldJoinState
	fieldParams
	fieldCount
	fieldState
	fieldConfigured // without more bytes
	fieldRetires    // without more bytes
	allFields       = 1<<10 - 1
)

// fields gives the set of those that are not zero.
func (e *Entry) fields() uint64 {
	var set uint64
	for i, present := range [...]bool{
		e.MGID != ib.MGID{}, e.MLID != 0, e.Port != ib.GID{}, e.Requester != ib.GID{}, e.JoinState != 0,
		e.Params != Params{}, e.Count != 0, e.State != 0 || e.Deadline != 0, e.Configured, e.Retires,
	} {
		if present {
			set |= 1 << i
		}
	}
	return set
}

// AppendTo appends the encoded entry: version, kind, Seq, Epoch and At, the set
// of the other fields, and those. Addresses are as on the wire, numbers
// variable-length as in encoding/binary. A member takes about 50 bytes.
func (e Entry) AppendTo(b []byte) []byte {
	set := e.fields()
	b = append(b, entryVersion, byte(e.Kind))
	b = binary.AppendUvarint(b, e.Seq)
	b = binary.AppendUvarint(b, e.Epoch)
	b = binary.AppendVarint(b, e.At)
	b = binary.AppendUvarint(b, set)
	if set&fieldMGID != 0 {
		b = append(b, e.MGID[:]...)
	}
	if set&fieldMLID != 0 {
		b = binary.BigEndian.AppendUint16(b, uint16(e.MLID))
	}
	if set&fieldPort != 0 {
		b = append(b, e.Port[:]...)
	}
	if set&fieldRequester != 0 {
		b = append(b, e.Requester[:]...)
	}
	if set&fieldJoinState != 0 {
		b = append(b, byte(e.JoinState))
	}
	if set&fieldParams != 0 {
		b = e.Params.appendTo(b)
	}
	if set&fieldCount != 0 {
		b = binary.AppendUvarint(b, uint64(e.Count))
	}
	if set&fieldState != 0 {
		b = append(b, byte(e.State))
		b = binary.AppendVarint(b, e.Deadline)
	}
	return b
}

const paramsLen = 16

// appendTo appends 16 bytes.
func (p *Params) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(p.QKey))
	b = binary.BigEndian.AppendUint16(b, uint16(p.PKey))
	b = append(b, byte(p.MTU), byte(p.Rate), p.Lifetime, byte(p.SL), p.TClass, p.HopLimit)
	return binary.BigEndian.AppendUint32(b, p.FlowLabel)
}

// ParseEntry reads one entry from the start of b, and gives the bytes after it.
// The error wraps ErrEncoding.
func ParseEntry(b []byte) (Entry, []byte, error) {
	d := decoder{rest: b}
	var e Entry
	if version := d.byte(); d.err == nil && version != entryVersion {
		return Entry{}, nil, fmt.Errorf("%w: version %d", ErrEncoding, version)
	}
	e.Kind = EntryKind(d.byte())
	e.Seq, e.Epoch, e.At = d.uvarint(), d.uvarint(), d.varint()
	set := d.uvarint()
	d.fields(&e, set)
	switch {
	case d.err != nil:
		return Entry{}, nil, d.err
	case set&^allFields != 0 || !e.Kind.IsValid():
		return Entry{}, nil, fmt.Errorf("%w: kind %d with fields %#x", ErrEncoding, uint8(e.Kind), set)
	}
	return e, d.rest, nil
}

func (d *decoder) fields(e *Entry, set uint64) {
	if set&fieldMGID != 0 {
		e.MGID = ib.MGID(d.gid())
	}
	if set&fieldMLID != 0 {
		e.MLID = ib.MLID(d.uint16())
	}
	if set&fieldPort != 0 {
		e.Port = d.gid()
	}
	if set&fieldRequester != 0 {
		e.Requester = d.gid()
	}
	if set&fieldJoinState != 0 {
		e.JoinState = JoinState(d.byte())
	}
	if set&fieldParams != 0 {
		e.Params = d.params()
	}
	if set&fieldCount != 0 {
		e.Count = d.uint32()
	}
	if set&fieldState != 0 {
		e.State, e.Deadline = State(d.byte()), d.varint()
	}
	e.Configured = set&fieldConfigured != 0
	e.Retires = set&fieldRetires != 0
}

// decoder reads values until the first that is cut off.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(what string) { d.err = fmt.Errorf("%w: %s", ErrEncoding, what) }

var zeros [16]byte

// take gives the next n bytes, at most 16; zeros after an error.
func (d *decoder) take(n int) []byte {
	if d.err == nil && len(d.rest) < n {
		d.fail("cut off")
	}
	if d.err != nil {
		return zeros[:n]
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) byte() byte     { return d.take(1)[0] }
func (d *decoder) uint16() uint16 { return binary.BigEndian.Uint16(d.take(2)) }
func (d *decoder) gid() ib.GID    { return ib.GID(d.take(16)) }

func (d *decoder) uint32() uint32 {
	v := d.uvarint()
	if v > 1<<32-1 {
		d.fail("number out of range")
	}
	return uint32(v)
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	d.number(n)
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.rest)
	d.number(n)
	return v
}

// number takes the n bytes of a number that was read; none is an error.
func (d *decoder) number(n int) {
	switch {
	case d.err != nil:
	case n <= 0:
		d.fail("number cut off or too long")
	default:
		d.rest = d.rest[n:]
	}
}

func (d *decoder) params() Params {
	b := d.take(paramsLen)
	return Params{
		QKey: ib.QKey(binary.BigEndian.Uint32(b)), PKey: ib.PKey(binary.BigEndian.Uint16(b[4:])),
		MTU: ib.MTU(b[6]), Rate: ib.Rate(b[7]), Lifetime: b[8], SL: ib.SL(b[9]), TClass: b[10], HopLimit: b[11],
		FlowLabel: binary.BigEndian.Uint32(b[12:]),
	}
}
