package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"heddle/sm/group"
)

// ErrEncoding means that bytes are not an encoded batch.
var ErrEncoding = errors.New("not an encoded batch")

// batchVersion is the first byte of an encoded batch.
const batchVersion = 1

const flagReset = 1

const flagDelete = 1

// AppendTo appends the encoded batch: version, flags, position, snapshot, the
// number of entries and these, the number of changes and these. Numbers and
// lengths are variable-length as in encoding/binary.
func (b *Batch) AppendTo(p []byte) []byte {
	var flags byte
	if b.Reset {
		flags = flagReset
	}
	p = append(p, batchVersion, flags)
	p = binary.AppendUvarint(p, b.At.Index)
	p = binary.AppendUvarint(p, b.At.Epoch)
	p = appendBytes(p, b.Snapshot)
	p = binary.AppendUvarint(p, uint64(len(b.Entries)))
	for i := range b.Entries {
		p = b.Entries[i].AppendTo(p)
	}
	p = binary.AppendUvarint(p, uint64(len(b.Changes)))
	for i := range b.Changes {
		p = b.Changes[i].appendTo(p)
	}
	return p
}

func (c *Change) appendTo(p []byte) []byte {
	if c.Delete {
		p = appendBytes(append(p, flagDelete), []byte(c.Bucket))
		return appendBytes(p, c.Key)
	}
	p = appendBytes(append(p, 0), []byte(c.Bucket))
	p = appendBytes(p, c.Key)
	return appendBytes(append(p, c.Version), c.Value)
}

func appendBytes(p, b []byte) []byte {
	return append(binary.AppendUvarint(p, uint64(len(b))), b...)
}

// ParseBatch reads a batch that is all of p, and refers to p afterwards. The
// error wraps ErrEncoding, ErrRecord or an error of sm/group.
func ParseBatch(p []byte) (*Batch, error) {
	d := decoder{rest: p}
	if version := d.byte(); d.err == nil && version != batchVersion {
		return nil, fmt.Errorf("%w: version %d", ErrEncoding, version)
	}
	flags := d.byte()
	b := &Batch{At: Position{d.uvarint(), d.uvarint()}, Reset: flags == flagReset, Snapshot: d.bytes()}
	for range d.count() {
		b.Entries = append(b.Entries, d.entry())
	}
	for range d.count() {
		b.Changes = append(b.Changes, d.change())
	}
	switch {
	case d.err != nil:
		return nil, d.err
	case flags&^flagReset != 0:
		return nil, fmt.Errorf("%w: flags %#x", ErrEncoding, flags)
	case len(d.rest) > 0:
		return nil, fmt.Errorf("%w: %d bytes after its end", ErrEncoding, len(d.rest))
	}
	if err := b.sound(); err != nil {
		return nil, err
	}
	return b, nil
}

// sound tells whether a batch that was parsed is one that some store could
// take.
func (b *Batch) sound() error {
	start := tail{}
	if !b.Reset && len(b.Entries) > 0 {
		start = tail{b.Entries[0].Seq - 1, 0}
	}
	_, err := b.check(start)
	return err
}

// decoder reads values until the first that is cut off.
type decoder struct {
	rest []byte
	err  error
}

func (d *decoder) fail(err error) {
	if d.err == nil {
		d.err, d.rest = err, nil
	}
}

var errCut = fmt.Errorf("%w: cut off", ErrEncoding)

func (d *decoder) byte() byte {
	if len(d.rest) == 0 {
		d.fail(errCut)
		return 0
	}
	b := d.rest[0]
	d.rest = d.rest[1:]
	return b
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail(errCut)
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

// count reads the number of things that follow, each of at least a byte.
func (d *decoder) count() uint64 {
	n := d.uvarint()
	if n > uint64(len(d.rest)) {
		d.fail(errCut)
		return 0
	}
	return n
}

// bytes reads a length and as many bytes; nil where there are none.
func (d *decoder) bytes() []byte {
	n := d.count()
	if n == 0 {
		return nil
	}
	b := d.rest[:n:n]
	d.rest = d.rest[n:]
	return b
}

func (d *decoder) entry() group.Entry {
	if d.err != nil {
		return group.Entry{}
	}
	e, rest, err := group.ParseEntry(d.rest)
	if err != nil {
		d.fail(fmt.Errorf("entry: %w", err))
		return group.Entry{}
	}
	d.rest = rest
	return e
}

func (d *decoder) change() (c Change) {
	flags := d.byte()
	c.Bucket, c.Key, c.Delete = string(d.bytes()), d.bytes(), flags == flagDelete
	if !c.Delete {
		c.Version, c.Value = d.byte(), d.bytes()
	}
	if flags&^flagDelete != 0 {
		d.fail(fmt.Errorf("%w: flags %#x of a change", ErrEncoding, flags))
	}
	return c
}
