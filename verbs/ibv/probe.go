//go:build linux && (amd64 || arm64)

package ibv

import (
	"errors"
	"sort"
	"unsafe"

	"heddle/verbs"
)

// maxInlineTried is how much inline data a device is asked for at most.
const maxInlineTried = 4096

// probe finds out what a device can do, by asking and by trying.
func (c *deviceContext) probe(transport int32) error {
	a, err := c.queryDevice()
	if err != nil {
		return err
	}
	port, err := c.port(1)
	if err != nil {
		return err
	}
	c.caps = verbs.Caps{
		WriteOrder: verbs.ByteOrder{Chunk: 1}, FetchOrder: verbs.ByteOrder{Chunk: 1},
		AtomicsWithCPU: verbs.Promise{Holds: a.AtomicCap == atomicGlob, Origin: verbs.Probed},
		MaxMessage:     int(port.MaxMessage), MTU: port.ActiveMTU.Bytes(), MaxSGE: c.attr.MaxSGE,
		SRQ: a.MaxSRQ > 0, Multicast: a.MaxGroups > 0,
		Windows1:     a.CapFlags&capWindow1 != 0 && a.MaxMW > 0,
		Windows2:     a.CapFlags&(capWindow2A|capWindow2B) != 0 && a.MaxMW > 0,
		DeviceMemory: c.attr.MaxDM > 0,
	}
	if transport == transportIB || transport == transportIWARP {
		c.caps.CompletionOrder = verbs.Promise{Holds: true, Origin: verbs.ByConstruction}
		c.caps.DeliveryOrder = c.caps.CompletionOrder
	}
	return c.probeServices(a.AtomicCap != 0)
}

// operations are those of a service, as far as the device's parts allow.
func (c *deviceContext) operations(t verbs.QPType, atomics bool) verbs.Ops {
	ops := []verbs.Op{verbs.OpSend}
	if t != verbs.UD {
		ops = append(ops, verbs.OpWrite)
	}
	if !c.iwarp {
		ops = append(ops, verbs.OpSendImm)
		if t != verbs.UD {
			ops = append(ops, verbs.OpWriteImm)
		}
	}
	if t == verbs.RC {
		ops = append(ops, verbs.OpRead)
		if atomics {
			ops = append(ops, verbs.OpFetchAdd, verbs.OpCompareSwap)
		}
	}
	if (c.caps.Windows1 || c.caps.Windows2) && t != verbs.UD {
		ops = append(ops, verbs.OpBind)
	}
	if c.caps.Windows2 && t != verbs.UD {
		ops = append(ops, verbs.OpLocalInv)
	}
	return verbs.OpsOf(ops...)
}

// probeServices makes QPs: of each service, and with more and more inline data.
func (c *deviceContext) probeServices(atomics bool) (err error) {
	pd, err := c.allocPD()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, failure(invoke(c.lib, c.lib.deallocPD, ptr(pd)))) }()
	cq, err := object[ibvCQ](invoke(c.lib, c.lib.createCQ, ptr(c.c), 16, 0, 0, 0))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(failure(invoke(c.lib, c.lib.destroyCQ, ptr(cq))), err) }()
	try := func(t verbs.QPType, inline int) bool {
		qp, fault := c.tryQP(pd, cq, t, inline)
		if fault != nil {
			return false
		}
		if t == verbs.RC && c.writesInOrder(qp) {
			c.caps.WriteOrder = verbs.ByteOrder{Chunk: verbs.AllBytes, Origin: verbs.Probed}
		}
		err = errors.Join(err, failure(invoke(c.lib, c.lib.destroyQP, ptr(qp))))
		return true
	}
	var there []verbs.QPType
	for _, t := range []verbs.QPType{verbs.RC, verbs.UC, verbs.UD} {
		if try(t, 0) {
			c.caps.Ops[t] = c.operations(t, atomics)
			there = append(there, t)
		}
	}
	if c.caps.Ops[verbs.UD] != 0 && c.caps.Multicast {
		err = errors.Join(err, c.probeBlockLoopback(pd, cq))
	}
	if len(there) > 0 {
		c.caps.MaxInline = sort.Search(maxInlineTried, func(n int) bool { return !try(there[0], n+1) })
	}
	c.attr.MaxInline = c.caps.MaxInline
	return err
}

// probeBlockLoopback makes a QP with that.
func (c *deviceContext) probeBlockLoopback(pd *ibvPD, cq *ibvCQ) error {
	qp, err := c.createQPEx(pd, smallQP(cq, verbs.UD, 0), qpBlockLoopback)
	if c.caps.BlockLoopback = err == nil; !c.caps.BlockLoopback {
		return nil // that is the answer
	}
	return failure(invoke(c.lib, c.lib.destroyQP, ptr(qp)))
}

func smallQP(cq *ibvCQ, t verbs.QPType, inline int) *ibvQPInitAttr {
	return &ibvQPInitAttr{
		SendCQ: cq, RecvCQ: cq, Type: qpType(t),
		Cap: ibvQPCap{SendWR: 1, RecvWR: 1, SendSGE: 1, RecvSGE: 1, Inline: uint32(inline)},
	}
}

func (c *deviceContext) tryQP(pd *ibvPD, cq *ibvCQ, t verbs.QPType, inline int) (*ibvQP, error) {
	a := smallQP(cq, t, inline)
	return object[ibvQP](invoke(c.lib, c.lib.createQP, ptr(pd), uintptr(unsafe.Pointer(a))))
}

// writesInOrder asks whether the bytes of a WRITE to a QP come in order.
func (c *deviceContext) writesInOrder(qp *ibvQP) bool {
	if c.lib.queryDataInOrder == 0 {
		return false
	}
	ret, _ := invoke(c.lib, c.lib.queryDataInOrder, ptr(qp), wrRDMAWrite, 0)
	return int32(ret) == 1
}

// qpType is the number of a service.
func qpType(t verbs.QPType) uint32 { return qpTypeRC + uint32(t-verbs.RC) }
