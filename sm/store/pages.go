package store

import (
	"encoding/binary"
	"hash/fnv"
	"io"
	"os"
)

// What follows reads the pages of a bbolt file (its format version 2) without
// mapping it, since bbolt trusts them: each page once, all that is referred to
// within the file and of the right kind, nothing that is in use in the list of
// free pages.

const (
	minPageSize   = 1 << 10
	maxPageSize   = 1 << 24
	pageHeaderLen = 16
	metaLen       = 64
	elementLen    = 16 // of a branch, and of a leaf
	noFreelist    = 1<<64 - 1
	boltMagic     = 0xED0CDAED
	boltVersion   = 2
)

const (
	pageBranch   = 0x01
	pageLeaf     = 0x02
	pageFreelist = 0x10
)

var host = binary.NativeEndian

type pages struct {
	file io.ReaderAt
	size uint64 // of a page
	end  uint64 // the first page that is not in use
	seen map[uint64]bool
}

// verifyPages reads all pages that are in use.
func verifyPages(file io.ReaderAt, length int64) error {
	m, ok := latestMeta(file)
	if !ok {
		return damagef("no page has a valid root")
	}
	p := &pages{file: file, size: uint64(m.pageSize), end: m.end, seen: map[uint64]bool{0: true, 1: true}}
	if m.end > uint64(length)/p.size {
		return damagef("file of %d bytes has not its %d pages of %d", length, m.end, p.size)
	}
	if err := p.walk(m.root); err != nil {
		return err
	}
	return p.free(m.freelist)
}

// meta is one of the two pages with the root.
type meta struct {
	pageSize            uint32
	root, freelist, end uint64
	tx                  uint64
}

// latestMeta gives the valid root of the later transaction.
func latestMeta(file io.ReaderAt) (meta, bool) {
	first, ok := readMeta(file, 0)
	size := int64(os.Getpagesize())
	if ok {
		size = int64(first.pageSize)
	}
	second, ok2 := readMeta(file, size)
	if ok2 && (!ok || second.tx > first.tx) {
		return second, true
	}
	return first, ok
}

func readMeta(file io.ReaderAt, offset int64) (meta, bool) {
	var b [pageHeaderLen + metaLen]byte
	if _, err := file.ReadAt(b[:], offset); err != nil {
		return meta{}, false
	}
	d := b[pageHeaderLen:]
	h := fnv.New64a()
	_, _ = h.Write(d[:metaLen-8])
	m := meta{
		pageSize: host.Uint32(d[8:]), root: host.Uint64(d[16:]), freelist: host.Uint64(d[32:]),
		end: host.Uint64(d[40:]), tx: host.Uint64(d[48:]),
	}
	valid := host.Uint32(d) == boltMagic && host.Uint32(d[4:]) == boltVersion && host.Uint64(d[56:]) == h.Sum64()
	return m, valid && m.pageSize >= minPageSize && m.pageSize <= maxPageSize
}

// read gives a page with those that continue it.
func (p *pages) read(id uint64) (flags uint16, b []byte, err error) {
	if id < 2 || id >= p.end {
		return 0, nil, damagef("page %d of %d", id, p.end)
	}
	head := make([]byte, pageHeaderLen)
	if _, err := p.file.ReadAt(head, int64(id*p.size)); err != nil {
		return 0, nil, damagef("page %d: %w", id, err)
	}
	more := uint64(host.Uint32(head[12:]))
	if host.Uint64(head) != id || more >= p.end-id {
		return 0, nil, damagef("page %d says that it is %d, and goes on for %d", id, host.Uint64(head), more)
	}
	for i := id; i <= id+more; i++ {
		if p.seen[i] {
			return 0, nil, damagef("page %d is in use twice", i)
		}
		p.seen[i] = true
	}
	b = make([]byte, (more+1)*p.size)
	if _, err := p.file.ReadAt(b, int64(id*p.size)); err != nil {
		return 0, nil, damagef("page %d: %w", id, err)
	}
	return host.Uint16(b[8:]), b, nil
}

// walk reads a tree of pages.
func (p *pages) walk(id uint64) error {
	flags, b, err := p.read(id)
	switch {
	case err != nil:
		return err
	case flags == pageBranch:
		return p.branch(id, b)
	case flags == pageLeaf:
		return p.leaf(id, b)
	default:
		return damagef("page %d of kind %#x", id, flags)
	}
}

// elements calls visit with each element of a page, and what its first number
// after the kind refers to.
func elements(id uint64, b []byte, visit func(element []byte, at uint64) error) error {
	count := uint64(host.Uint16(b[10:]))
	if pageHeaderLen+count*elementLen > uint64(len(b)) {
		return damagef("page %d has %d elements", id, count)
	}
	for i := range count {
		at := pageHeaderLen + i*elementLen
		if err := visit(b[at:at+elementLen], at); err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) branch(id uint64, b []byte) error {
	if host.Uint16(b[10:]) == 0 {
		return damagef("page %d has no elements", id)
	}
	return elements(id, b, func(e []byte, at uint64) error {
		start, key := uint64(host.Uint32(e)), uint64(host.Uint32(e[4:]))
		if key == 0 || at+start+key > uint64(len(b)) {
			return damagef("page %d: key of %d bytes at %d", id, key, at+start)
		}
		return p.walk(host.Uint64(e[8:]))
	})
}

func (p *pages) leaf(id uint64, b []byte) error {
	return elements(id, b, func(e []byte, at uint64) error {
		kind, start := host.Uint32(e), uint64(host.Uint32(e[4:]))
		key, value := uint64(host.Uint32(e[8:])), uint64(host.Uint32(e[12:]))
		end := at + start + key + value
		if kind > 1 || key == 0 || end > uint64(len(b)) {
			return damagef("page %d: kind %d, key of %d and value of %d bytes at %d", id, kind, key, value, at+start)
		}
		if kind == 0 {
			return nil
		}
		return p.bucket(id, b[end-value:end])
	})
}

// bucket reads a bucket: its root, or where there is none its only page.
func (p *pages) bucket(id uint64, b []byte) error {
	switch {
	case len(b) < pageHeaderLen:
		return damagef("page %d: bucket of %d bytes", id, len(b))
	case host.Uint64(b) != 0:
		return p.walk(host.Uint64(b))
	case len(b) < 2*pageHeaderLen || host.Uint16(b[24:]) != pageLeaf:
		return damagef("page %d: bucket without a page", id)
	default:
		return p.leaf(id, b[pageHeaderLen:])
	}
}

// free reads the list of free pages.
func (p *pages) free(id uint64) error {
	if id == noFreelist {
		return nil
	}
	flags, b, err := p.read(id)
	if err != nil {
		return err
	}
	count, at := uint64(host.Uint16(b[10:])), uint64(pageHeaderLen)
	if count == 0xFFFF {
		count, at = host.Uint64(b[at:]), at+8
	}
	if flags != pageFreelist || count > (uint64(len(b))-at)/8 {
		return damagef("page %d of kind %#x lists %d free pages", id, flags, count)
	}
	for i := range count {
		n := host.Uint64(b[at+8*i:])
		if n < 2 || n >= p.end || p.seen[n] {
			return damagef("page %d is listed as free", n)
		}
		p.seen[n] = true
	}
	return nil
}
