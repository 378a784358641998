//go:build linux && (amd64 || arm64)

package shm

import (
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"heddle/verbs"
)

// link is what a QP and its peer have in common: a socket, which tells when the
// peer is gone, and a pair of rings.
type link struct {
	conn     *net.UnixConn
	mappings [3]*mapping
	out      *writer // under the send lock of the QP, as remotes, asking and denied
	in       reader  // under the receive lock
	bell     bell    // the peer's
	board    board   // the peer's
	access   verbs.Access
	rnr      time.Duration
	remotes  []*target
	asking   uint64    // key of the region that the peer is asked for, and 1<<32; 0 for none
	denied   uint64    // so of one that it does not have
	loans    []loan    // under the send lock
	offering bool      // one of them, of which the peer has said nothing yet
	borrowed []*target // that the peer lends, under the receive lock
	gone     atomic.Bool
	done     chan struct{} // closed when nobody serves the link any more
}

// named marks a key, which may be 0.
func named(key uint32) uint64 { return 1<<32 | uint64(key) }

// target is a region of a peer.
type target struct {
	key        uint32
	access     verbs.Access
	generation uint64
	base       uint64
	pages      *mapping
}

// controlSize is the bytes of the file of two rings.
func controlSize(ring int) int { return 2 * (headerRoom + ring) }

// newLink maps the rings of a file. The one who dials writes to the first one.
func newLink(conn *net.UnixConn, file *os.File, ring int, dialer bool) (l *link, err error) {
	if err := checkFile(file, uint64(controlSize(ring))); err != nil {
		return nil, fmt.Errorf("rings: %w", err)
	}
	l = &link{conn: conn, done: make(chan struct{})}
	for i, part := range [...]struct{ offset, size, times int }{
		{0, 2 * headerRoom, 1}, {2 * headerRoom, ring, 2}, {2*headerRoom + ring, ring, 2},
	} {
		if l.mappings[i], err = mapFile(file, uint64(part.offset), part.size, part.times, true); err != nil {
			return nil, errors.Join(fmt.Errorf("rings: %w", err), l.unmap())
		}
	}
	headers := l.mappings[0].bytes
	first, second := (*header)(unsafe.Pointer(&headers[0])), (*header)(unsafe.Pointer(&headers[headerRoom]))
	if dialer {
		l.out, l.in = newWriter(first, l.mappings[1].bytes), newReader(second, l.mappings[2].bytes)
	} else {
		l.out, l.in = newWriter(second, l.mappings[2].bytes), newReader(first, l.mappings[1].bytes)
	}
	return l, nil
}

// meet takes what the peer's hello or welcome says of its context.
func (l *link) meet(f *frame, bell, board *os.File) error {
	l.access, l.rnr = f.Access, f.RNR
	if err := l.bell.use(bell); err != nil {
		return fmt.Errorf("the peer's bell: %w", err)
	}
	if err := l.board.use(board); err != nil {
		return fmt.Errorf("the peer's board: %w", err)
	}
	return nil
}

// unmap gives all pages back. Nobody may use the link any more.
func (l *link) unmap() (err error) {
	for _, m := range l.mappings {
		err = errors.Join(err, m.Close())
	}
	for _, t := range slices.Concat(l.remotes, l.borrowed) {
		if t != nil {
			err = errors.Join(err, t.pages.Close())
		}
	}
	l.remotes, l.borrowed = nil, nil
	return errors.Join(err, l.bell.close(), l.board.close())
}

// find is the region of a key, nil where it is not known, or no longer valid.
func (l *link) find(key uint32) *target {
	i := int(key & (boardSlots - 1))
	if i >= len(l.remotes) {
		return nil
	}
	t := l.remotes[i]
	if t == nil || t.key != key || !l.board.valid(key, t.generation) {
		return nil
	}
	return t
}

// newTarget maps a region that the peer describes.
func newTarget(f *frame, file *os.File) (*target, error) {
	size, page := f.Size*uint64(f.Times), uint64(os.Getpagesize())
	switch {
	case f.Times < 1 || f.Times > 2 || f.Size == 0 || f.Size > limits.MaxMRSize || f.Base > math.MaxUint64-size:
		return nil, fmt.Errorf("a region of %d times %d bytes at %#x: %w", f.Times, f.Size, f.Base, verbs.ErrInvalid)
	case f.Offset > math.MaxInt64-f.Size || f.Offset%page != f.Base%page:
		return nil, fmt.Errorf("a region at %#x, which is at %#x of its file: %w", f.Base, f.Offset, verbs.ErrInvalid)
	case f.Times == 2 && (f.Size%page != 0 || f.Offset%page != 0):
		return nil, fmt.Errorf("a ring of %d bytes from %d on: %w", f.Size, f.Offset, verbs.ErrInvalid)
	}
	if err := checkFile(file, f.Offset+f.Size); err != nil {
		return nil, err
	}
	write := f.Access&(verbs.RemoteWrite|verbs.RemoteAtomic) != 0
	pages, err := mapFile(file, f.Offset, int(f.Size), int(f.Times), write)
	if err != nil {
		return nil, err
	}
	return &target{key: f.Key, access: f.Access, generation: f.Generation, base: f.Base, pages: pages}, nil
}

// learn maps a region that the peer was asked for. Whatever was known of its
// slot is forgotten.
func (l *link) learn(f *frame, file *os.File) error {
	t, err := newTarget(f, file)
	if err != nil {
		return err
	}
	i := int(f.Key & (boardSlots - 1))
	if i >= len(l.remotes) {
		l.remotes = append(l.remotes, make([]*target, i+1-len(l.remotes))...)
	}
	if old := l.remotes[i]; old != nil {
		err = old.pages.Close()
	}
	l.remotes[i] = t
	return err
}

// part is n bytes of a target; ok is false where they are not all in it.
func (t *target) part(addr uint64, n int) ([]byte, bool) {
	all, off := t.pages.bytes, addr-t.base
	if addr < t.base || off > uint64(len(all)) || uint64(n) > uint64(len(all))-off {
		return nil, false
	}
	return all[off : off+uint64(n)], true
}
