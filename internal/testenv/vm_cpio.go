package testenv

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// The archive that a Linux kernel unpacks as its first file system: "newc" of
// cpio (Documentation/driver-api/early-userspace/buffer-format.rst).
const (
	cpioTrailer = "TRAILER!!!"
	cpioAlign   = 4

	modeRegular = 0o100000
	modeDir     = 0o040000
	modeLink    = 0o120000
)

// archive writes the tree, directories before what is in them.
func (t guestTree) archive() []byte {
	var b []byte
	for i, guest := range slices.Sorted(maps.Keys(t)) {
		f := t[guest]
		b = appendCpio(b, i+1, guest[1:], cpioMode(f.mode), f.data)
	}
	return appendCpio(b, 0, cpioTrailer, 0, nil)
}

func cpioMode(m fs.FileMode) uint32 {
	perm := uint32(m.Perm())
	switch {
	case m.IsDir():
		return modeDir | perm
	case m&fs.ModeSymlink != 0:
		return modeLink | perm
	default:
		return modeRegular | perm
	}
}

// appendCpio appends one file: a header of 13 numbers of 8 hexadecimal digits,
// the name and the data, name and data filled up to four bytes.
func appendCpio(b []byte, inode int, name string, mode uint32, data []byte) []byte {
	b = fmt.Appendf(b, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X",
		inode, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name)+1, 0)
	b = append(b, name...)
	b = cpioPad(append(b, 0))
	return cpioPad(append(b, data...))
}

func cpioPad(b []byte) []byte {
	for len(b)%cpioAlign != 0 {
		b = append(b, 0)
	}
	return b
}
