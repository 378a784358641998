package umad

import (
	"encoding/binary"
	"fmt"

	"heddle/ib"
	"heddle/mad"
)

// The ioctls of the kernel's umad device, and the request of the last (Linux,
// include/uapi/rdma/ib_user_mad.h).
const (
	ioctlEnablePKey uint = 0x1B03
	ioctlRegister   uint = 0xC0281B04 // IB_USER_MAD_REGISTER_AGENT2

	regID       = 0
	regQPN      = 4
	regClass    = 8
	regVersion  = 9
	regMethods  = 16 // 128 bits, in two words of the host's byte order
	regOUI      = 32
	regRMPP     = 36
	regLen      = 40
	maxMethod   = 127
	maxOUI      = 0xFFFFFF
	rmppVersion = 1
)

// agentKey tells the agents of a device apart: what the kernel looks at before
// it gives a datagram to one of them.
type agentKey struct {
	class mad.Class
	oui   uint32
}

// validate refuses what the kernel would refuse with the same error number as
// a class that is taken.
func (a Agent) validate() error {
	vendor := a.Class.IsVendorOUI()
	switch {
	case a.Class == 0:
		return fmt.Errorf("class 0 does not exist")
	case vendor && (a.OUI == 0 || a.OUI > maxOUI):
		return fmt.Errorf("vendor class needs an OUI of 1 to %#x, got %#x", maxOUI, a.OUI)
	case !vendor && a.OUI != 0:
		return fmt.Errorf("OUI %#x, but the class has none", a.OUI)
	case a.RMPP && !kernelRMPP(a.Class):
		return fmt.Errorf("the class does not use RMPP")
	}
	for _, m := range a.Methods {
		if m == 0 || m > maxMethod {
			return fmt.Errorf("method %v is no request", m)
		}
	}
	return nil
}

// kernelRMPP tells whether the kernel cuts messages of the class: those of
// subnet administration, device management, device administration, boot
// management and of the vendors with an OUI.
func kernelRMPP(c mad.Class) bool {
	switch c {
	case mad.ClassSA, mad.ClassDevMgt, 0x10, 0x12:
		return true
	default:
		return c.IsVendorOUI()
	}
}

// qpn is the queue pair of the class.
func (a Agent) qpn() ib.QPN {
	if a.Class.IsSMP() {
		return ib.SMIQPN
	}
	return ib.GSIQPN
}

// registration is the request that registers the agent. The kernel writes the
// agent's number into its first four bytes.
func (a Agent) registration() []byte {
	b, host := make([]byte, regLen), binary.NativeEndian
	host.PutUint32(b[regQPN:], uint32(a.qpn()))
	b[regClass], b[regVersion] = byte(a.Class), a.Version
	var methods [2]uint64
	for _, m := range a.Methods {
		methods[m/64] |= 1 << (m % 64)
	}
	host.PutUint64(b[regMethods:], methods[0])
	host.PutUint64(b[regMethods+8:], methods[1])
	host.PutUint32(b[regOUI:], a.OUI)
	if a.RMPP {
		b[regRMPP] = rmppVersion
	}
	return b
}

// agentID is the number that the kernel wrote into a registration.
func agentID(registration []byte) uint32 { return binary.NativeEndian.Uint32(registration[regID:]) }

// classAgents are the numbers of the agents of one class. Answers must leave
// by the agent that takes the method of the request, as there the kernel
// expects what acknowledges a long one.
type classAgents struct {
	asking  uint32
	methods map[mad.Method]uint32
}

func newClassAgents(first uint32) *classAgents {
	return &classAgents{asking: first, methods: make(map[mad.Method]uint32)}
}

func (c *classAgents) add(a Agent, id uint32) {
	for _, m := range a.Methods {
		c.methods[m] = id
	}
}

// sender is the agent that sends a datagram of the method.
func (c *classAgents) sender(m mad.Method) uint32 {
	id, ok := c.methods[m&maxMethod]
	if ok && m.IsResponse() {
		return id
	}
	return c.asking
}

// keyOf is the key of the agent that a datagram belongs to.
func keyOf(datagram []byte) agentKey {
	key := agentKey{class: mad.Class(datagram[1])}
	if key.class.IsVendorOUI() {
		key.oui = binary.BigEndian.Uint32(datagram[36:]) & maxOUI
	}
	return key
}
