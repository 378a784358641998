package sim

import (
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// Profile is what a kind of network can do, and which order it keeps. All that
// it does not promise, the simulated devices really do otherwise.
type Profile struct {
	Name string
	// Ops are the operations of each service, by QPType.
	Ops [4]verbs.Ops
	// WriteChunk and FetchChunk are the Chunk of Caps.WriteOrder and FetchOrder:
	// verbs.AllBytes for ascending order, 1 for none.
	WriteChunk, FetchChunk int
	// Placement, Completion and Delivery are the promises of the same names in
	// Caps. Placement implies Completion, and Completion Delivery.
	Placement, Completion, Delivery bool
	// Spread is by how much packets of one QP overtake each other at most; 0
	// keeps them in order.
	Spread time.Duration
	// MTU is of the ports, MaxMessage the longest message; 0 is one packet.
	MTU        ib.MTU
	MaxMessage int
	// MaxSGE and MaxInline are limits of one request.
	MaxSGE, MaxInline int
	SRQ, Multicast    bool
	// Windows1, Windows2 and BlockLoopback are Caps' of the same names.
	Windows1, Windows2, BlockLoopback bool
	// DeviceMemory is how many bytes a device has of its own.
	DeviceMemory int
	// PullWrites has a WRITE be a request to the peer's device to READ: four
	// crossings, of which the third brings the data.
	PullWrites bool
	// CPUAtomics is Caps.AtomicsWithCPU. Without it an atomic loads and stores at
	// two moments.
	CPUAtomics bool
	// PeerGone has devices see at once that another was killed.
	PeerGone bool
}

var (
	sends   = verbs.OpsOf(verbs.OpSend, verbs.OpSendImm)
	writes  = verbs.OpsOf(verbs.OpWrite, verbs.OpWriteImm)
	atomics = verbs.OpsOf(verbs.OpFetchAdd, verbs.OpCompareSwap)
	reads   = verbs.OpsOf(verbs.OpRead)
	windows = verbs.OpsOf(verbs.OpBind, verbs.OpLocalInv)
)

// infiniBand is what all profiles of InfiniBand share.
func infiniBand() Profile {
	return Profile{
		Ops:        [4]verbs.Ops{verbs.RC: sends | writes | reads | atomics | windows, verbs.UC: sends | writes | windows, verbs.UD: sends},
		WriteChunk: verbs.AllBytes, FetchChunk: verbs.AllBytes,
		Completion: true, Delivery: true,
		MTU: ib.MTU4096, MaxMessage: 1 << 30, MaxSGE: 16, MaxInline: 256, SRQ: true, Multicast: true,
		Windows1: true, Windows2: true, BlockLoopback: true, DeviceMemory: 128 << 10,
	}
}

// InOrder is InfiniBand or RoCE on static routes: all is in order.
func InOrder() Profile {
	p := infiniBand()
	p.Name, p.Placement = "ib", true
	return p
}

// AdaptiveRouting is InfiniBand whose packets take several ways: those of a
// message, and of WRITEs one after the other, are placed in any order.
// Completions are right.
func AdaptiveRouting() Profile {
	p := infiniBand()
	p.Name, p.Spread = "ib-ar", 3*time.Microsecond
	p.WriteChunk, p.FetchChunk = 1, 1
	p.Ops[verbs.UC] = 0
	return p
}

// RelaxedDMA is InfiniBand in order behind a bus that is not: aligned lines of 64
// bytes come in any order, those that READs fetch too.
func RelaxedDMA() Profile {
	p := infiniBand()
	p.Name = "ib-relaxed"
	p.WriteChunk, p.FetchChunk = 64, 64
	return p
}

// srd is what both ages of EFA share.
func srd() Profile {
	return Profile{
		Ops:        [4]verbs.Ops{verbs.RC: sends | reads, verbs.UD: sends},
		WriteChunk: 1, FetchChunk: 1, Spread: 3 * time.Microsecond,
		MTU: ib.MTU4096, MaxSGE: 2, MaxInline: 32,
	}
}

// EFA2023 is EFA as the seed paper has it: SEND and READ, messages of one packet
// in any order.
func EFA2023() Profile {
	p := srd()
	p.Name = "efa-2023"
	return p
}

// EFA is EFA with WRITE and WRITE_WITH_IMM, whose aligned chunks of 128 bytes are
// placed whole. Messages are kept to one packet here.
func EFA() Profile {
	p := srd()
	p.Name, p.WriteChunk = "efa", 128
	p.Ops[verbs.RC] |= writes
	return p
}

// OneRMA is 1RMA: READs of one packet. A WRITE asks the peer's device to READ.
func OneRMA() Profile {
	return Profile{
		Name: "1rma", Ops: [4]verbs.Ops{verbs.RC: reads | verbs.OpsOf(verbs.OpWrite)},
		WriteChunk: 1, FetchChunk: 1, Spread: 3 * time.Microsecond,
		MTU: ib.MTU4096, MaxSGE: 4, PullWrites: true,
	}
}

// IWARP is RDMA over TCP: no immediate data, no atomics, and no order of
// placement before the completion of a SEND. It has memory windows (RFC 5040).
func IWARP() Profile {
	return Profile{
		Name:       "iwarp",
		Ops:        [4]verbs.Ops{verbs.RC: reads | verbs.OpsOf(verbs.OpSend, verbs.OpWrite) | windows},
		WriteChunk: 1, FetchChunk: 1, Completion: true, Delivery: true,
		MTU: ib.MTU1024, MaxMessage: 1 << 30, MaxSGE: 4, MaxInline: 64, SRQ: true, PeerGone: true,
		Windows1: true, Windows2: true,
	}
}

// Profiles lists them all.
func Profiles() []Profile {
	return []Profile{InOrder(), AdaptiveRouting(), RelaxedDMA(), EFA2023(), EFA(), OneRMA(), IWARP()}
}

// Caps is what devices of the profile tell about themselves.
func (p *Profile) Caps() verbs.Caps {
	made := func(holds bool) verbs.Promise { return verbs.Promise{Holds: holds, Origin: verbs.ByConstruction} }
	return verbs.Caps{
		Ops:             p.Ops,
		WriteOrder:      verbs.ByteOrder{Chunk: p.WriteChunk, Origin: verbs.ByConstruction},
		FetchOrder:      verbs.ByteOrder{Chunk: p.FetchChunk, Origin: verbs.ByConstruction},
		PlacementOrder:  made(p.Placement),
		CompletionOrder: made(p.Completion),
		DeliveryOrder:   made(p.Delivery),
		AtomicsWithCPU:  made(p.CPUAtomics),
		MaxMessage:      p.maxMessage(), MTU: p.MTU.Bytes(),
		MaxInline: p.MaxInline, MaxSGE: p.MaxSGE,
		SRQ: p.SRQ, Multicast: p.Multicast, BlockLoopback: p.BlockLoopback, PeerGone: p.PeerGone,
		Windows1: p.Windows1, Windows2: p.Windows2, DeviceMemory: p.DeviceMemory > 0,
	}
}

func (p *Profile) maxMessage() int {
	if p.MaxMessage == 0 {
		return p.MTU.Bytes()
	}
	return p.MaxMessage
}

// order is how a QP's requests may be executed.
type order uint8

const (
	strict order = iota // one after the other
	loose               // WRITEs are placed as they come, all else in order
	anyhow              // each on its own
)

func (p *Profile) order() order {
	switch {
	case p.Placement:
		return strict
	case p.Completion:
		return loose
	default:
		return anyhow
	}
}
