package verbs

import (
	"context"

	"heddle/ib"
)

// Provider is a kind of device.
type Provider interface {
	// Name is how users name it: "sim", "shm", "ibv".
	Name() string
	// Devices lists what there is now. Where the kind is not there at all, such
	// as libibverbs on a machine without it, the error wraps ErrNoDevice.
	Devices() ([]Device, error)
}

// Device is a device that can be opened, any number of times.
type Device interface {
	// Name is that of the device within its provider, such as "mlx5_0".
	Name() string
	Open() (Context, error)
}

// Context is an opened device.
type Context interface {
	Name() string
	Attr() DeviceAttr
	Caps() Caps
	// Port tells how a port is; they are numbered from 1. A number without a port
	// gives an error that wraps ErrNotFound.
	Port(number uint8) (PortAttr, error)
	// GID is an entry of a port's table; an index without an entry gives an
	// error that wraps ErrNotFound.
	GID(port uint8, index int) (GIDEntry, error)
	AllocPD() (PD, error)
	CreateCQ(CQAttr) (CQ, error)
	// Event waits for the next asynchronous event.
	Event(ctx context.Context) (Event, error)
	// Await returns when ready does: a wait for what a peer writes into memory,
	// of which no completion tells. The device knows how to wait: it calls ready
	// again and again, sleeps where a peer can wake it, and lets simulated time
	// go on. Ready must be cheap, must not block, and reads memory by atomic
	// loads. The error is that of the context, or ErrClosed.
	Await(ctx context.Context, ready func() bool) error
	Close() error
}

// PD is a protection domain.
type PD interface {
	// RegisterMR lets the device use memory. Where the limit of locked memory
	// forbids it, the error is a *MemlockError.
	RegisterMR(mem *Memory, access Access) (MR, error)
	CreateQP(QPAttr) (QP, error)
	CreateSRQ(SRQAttr) (SRQ, error)
	CreateAH(AHAttr) (AH, error)
	// ResolveAH makes an address of a UD queue pair's Endpoint, and gives the
	// number and the key that requests to it need.
	ResolveAH(endpoint []byte) (ah AH, qpn ib.QPN, qkey ib.QKey, err error)
	Close() error
}

// WindowAllocator is a PD that can make memory windows.
type WindowAllocator interface {
	// AllocMW makes a window that is bound by OpBind. The error of a type that
	// the device does not have wraps ErrNotSupported.
	AllocMW(MWType) (MW, error)
}

// MWType is who may use a window, and how it is taken back (IBTA 10.6.7.2).
type MWType uint8

// The types. A window of type 1 is for all QPs of its PD. It is bound anew as it
// is, which ends its key, and taken back by an OpBind of no bytes. A window of
// type 2 is for the QP alone that it was bound through; it has to be taken back
// by OpLocalInv of that QP before it is bound anew.
const (
	MWType1 MWType = iota + 1
	MWType2
)

// MW is a memory window: a part of an MR under a remote key of its own, which can
// be taken back.
//
// The window, its MR and the QP that binds it are of one PD. The MR has the right
// WindowBind, and LocalWrite where peers are to write; it needs no remote rights
// itself. It cannot be closed, which gives ErrBusy, as long as a window is bound
// to it. Close of the window ends that too, and so does the end of the QP, or its
// Reset, for those of type 2, where a device does not refuse it. A window whose
// OpBind failed, or was flushed, can be closed only: which key it has then depends
// on the device.
type MW interface {
	// RKey is the key that the OpBind which was posted last gives the window, once
	// it is done.
	RKey() uint32
	Close() error
}

// DeviceMemoryAllocator is a PD whose device has memory of its own.
type DeviceMemoryAllocator interface {
	// AllocDM allocates that many bytes of it; more than there are is ErrInvalid.
	// RegisterMR of the same device takes it as any other memory, under
	// addresses that begin with 0; no window can be bound to it. Close gives it
	// back; it is ErrBusy as long as an MR is of it.
	AllocDM(size int) (*Memory, error)
}

// DeviceAttr are the limits of a device; 0 is none.
type DeviceAttr struct {
	NodeGUID ib.GUID
	VendorID uint32
	PartID   uint32
	Firmware string
	Ports    uint8
	MaxQP    int
	MaxCQ    int
	MaxMR    int
	MaxPD    int
	MaxSRQ   int
	MaxAH    int
	// MaxQPWR, MaxSRQWR and MaxCQE are how many requests or completions one
	// queue holds, MaxSGE how many SGEs one request has.
	MaxQPWR, MaxSRQWR, MaxCQE, MaxSGE int
	// MaxInline is how many bytes of inline data a request of a new QP may have
	// at most.
	MaxInline int
	MaxMRSize uint64
	// MaxMW is how many memory windows there are at most, MaxDM how many bytes of
	// device memory.
	MaxMW, MaxDM int
	// MaxReads is how many READs and atomics of one QP are under way at most, as
	// their target and as their initiator.
	MaxReads, MaxReadsInit int
}

// PortState is the logical state of a port.
type PortState uint8

// The states of a port.
const (
	PortUnknown PortState = iota
	PortDown
	PortInit
	PortArmed
	PortActive
)

// LinkLayer is what a port sends over.
type LinkLayer uint8

// The link layers.
const (
	LinkUnspecified LinkLayer = iota
	LinkInfiniBand
	LinkEthernet
	LinkMemory // between processes of one host, or within one
)

// PortAttr is how a port is.
type PortAttr struct {
	State     PortState
	LinkLayer LinkLayer
	// MaxMTU is what the port can, ActiveMTU what its link has.
	MaxMTU, ActiveMTU ib.MTU
	LID, SMLID        ib.LID
	LMC               uint8
	GIDs, PKeys       int // sizes of the tables
	Rate              ib.LinkRate
	MaxMessage        uint32 // bytes
}

// GIDType is how packets with a GID look on the wire.
type GIDType uint8

// The types of GIDs.
const (
	GIDAny GIDType = iota // whichever there is
	GIDInfiniBand
	GIDRoCEv1
	GIDRoCEv2
)

// GIDEntry is an entry of a port's GID table.
type GIDEntry struct {
	GID    ib.GID
	Index  int
	Type   GIDType
	Device string // of the network interface; empty where there is none
}
