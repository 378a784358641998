//go:build linux && (amd64 || arm64)

package shm

import (
	"errors"
	"os"
	"sync/atomic"
	"unsafe"
)

// board has a word for each region of a context: the generation of the one that
// is valid there, or 0. Peers map it, and cannot write to it.
type board struct {
	file, reading *os.File // of our own only
	page          *mapping
	last          atomic.Uint64
}

func (b *board) make() (err error) {
	if b.file, err = newFile("board", boardBytes); err != nil {
		return err
	}
	if b.page, err = mapFile(b.file, 0, boardBytes, 1, true); err != nil {
		return err
	}
	if err = sealWrites(b.file); err != nil {
		return err
	}
	b.reading, err = readOnly(b.file)
	return err
}

// use maps a peer's.
func (b *board) use(file *os.File) (err error) {
	if err = checkFile(file, boardBytes); err == nil {
		b.page, err = mapFile(file, 0, boardBytes, 1, false)
	}
	return err
}

func (b *board) close() (err error) {
	for _, f := range []*os.File{b.file, b.reading} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return errors.Join(err, b.page.Close())
}

// slot is the word of a region; any key has one.
func (b *board) slot(key uint32) *uint64 {
	return (*uint64)(unsafe.Pointer(&b.page.bytes[(key&(boardSlots-1))*8]))
}

// announce makes a region valid, and gives its generation.
func (b *board) announce(key uint32) uint64 {
	generation := b.last.Add(1)
	atomic.StoreUint64(b.slot(key), generation)
	return generation
}

// revoke makes it invalid.
func (b *board) revoke(key uint32) { atomic.StoreUint64(b.slot(key), 0) }

// valid tells whether a region is still there.
func (b *board) valid(key uint32, generation uint64) bool {
	return atomic.LoadUint64(b.slot(key)) == generation
}
