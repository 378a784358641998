package verbs

import "heddle/ib"

// Op is an operation.
type Op uint8

// The operations. OpRecv and OpRecvWriteImm occur in completions only.
const (
	OpSend Op = iota + 1
	OpSendImm
	OpWrite
	OpWriteImm
	OpRead
	OpFetchAdd
	OpCompareSwap
	OpBind     // bind a memory window
	OpLocalInv // take the remote key of a window of type 2 back
	OpRecv
	OpRecvWriteImm // a WRITE_WITH_IMM took the receive
)

// SendFlags are the flags of a request.
type SendFlags uint8

// The flags.
const (
	// Signaled asks for a completion; a QP with SigAll makes one for each.
	Signaled SendFlags = 1 << iota
	// Inline has the call copy the data, which then may be any memory.
	Inline
	// Fence waits until all READs and atomics before it are done.
	Fence
	// Solicited makes an event at a receiver that was armed for these only.
	Solicited
)

// SendWR is a request to send. The zero value of what an operation does not need
// is ignored.
type SendWR struct {
	ID    uint64 // comes back in the completion
	Op    Op
	Flags SendFlags
	// SGEs are what is sent, or where a READ's or an atomic's result goes.
	SGEs []SGE
	// InlineData is what is sent in place of SGEs where Flags has Inline.
	InlineData []byte
	// Imm goes with OpSendImm and OpWriteImm. It is a number, the same at both
	// ends, whatever the byte order of the wire.
	Imm uint32
	// RemoteAddr and RKey are the peer's memory of a WRITE, READ or atomic.
	RemoteAddr uint64
	RKey       uint32
	// Compare is what OpCompareSwap compares with, Swap what it puts there, or
	// what OpFetchAdd adds.
	Compare, Swap uint64
	// AH, RemoteQPN and RemoteQKey are where a datagram goes.
	AH         AH
	RemoteQPN  ib.QPN
	RemoteQKey ib.QKey
	// MW, BindMR and BindAccess are what OpBind binds: the memory of SGEs[0] in
	// BindMR, for peers that may RemoteRead, RemoteWrite, RemoteAtomic. OpLocalInv
	// takes RKey back. Both are done in their turn, before requests after them
	// begin; with Fence, after READs before them are done. What a device finds
	// wrong then fails with StatusBind, or a local error.
	MW         MW
	BindMR     MR
	BindAccess Access
}

// RecvWR is a buffer for a message to come.
type RecvWR struct {
	ID   uint64
	SGEs []SGE
}

// WC is a completion.
type WC struct {
	ID     uint64
	Status Status
	// Op, ByteLen, Imm and Src are of a successful one only, ID, Status and QPN
	// of any. At the sender Op may leave out the immediate: OpSend or OpWrite, as
	// adapters say no more.
	Op Op
	// ByteLen counts the bytes that came, with a datagram's 40 for the GRH; for
	// OpRecvWriteImm it is the length of the WRITE.
	ByteLen uint32
	Flags   WCFlags
	Imm     uint32 // where Flags has WithImm
	QPN     ib.QPN // of the QP that the request was posted to
	SrcQPN  ib.QPN // of a datagram
	Vendor  uint32 // the device's own word for an error
}

// WCFlags tell more of a completion.
type WCFlags uint8

// The flags.
const (
	WithImm WCFlags = 1 << iota
	WithGRH         // the first 40 bytes of the buffer are a datagram's GRH
)

// GRHSize is how many bytes of a datagram's receive buffer come before its data.
const GRHSize = 40

// Err is nil for a successful completion, and else says what failed.
func (w *WC) Err() error {
	if w.Status == StatusOK {
		return nil
	}
	return &OpError{Verb: "completion", QPN: w.QPN, ID: w.ID, Status: w.Status, Vendor: w.Vendor}
}
