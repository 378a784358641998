package verbs

// Access is what may be done with an MR. Local reads always may.
type Access uint8

// The rights; RemoteWrite and RemoteAtomic need LocalWrite.
const (
	LocalWrite Access = 1 << iota
	RemoteRead
	RemoteWrite
	RemoteAtomic
	WindowBind
	// RelaxedOrder allows the device to place bytes in any order (PCIe relaxed
	// ordering), whatever Caps says.
	RelaxedOrder
)

// Valid tells whether the rights go together.
func (a Access) Valid() bool { return a&(RemoteWrite|RemoteAtomic) == 0 || a&LocalWrite != 0 }

// MR is memory that a device may use.
type MR interface {
	Memory() *Memory
	// Addr is how local requests and peers call its first byte.
	Addr() uint64
	Len() int
	LKey() uint32
	RKey() uint32
	// SGE names n bytes of it, from an offset on. What lies outside is found
	// out by the device when the request is done.
	SGE(offset, n int) SGE
	Close() error
}

// SGE is a piece of memory of a work request.
type SGE struct {
	Addr   uint64
	Length uint32
	LKey   uint32
}
