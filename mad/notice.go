package mad

import (
	"fmt"

	"heddle/ib"
)

// Notice tells of an event: in a Trap to the subnet manager, and in a Report
// of subnet administration to those who subscribed (IBTA 1, 13.4.8.2).
type Notice struct {
	// IsGeneric says that the standard defines the notice; a vendor's is other.
	IsGeneric bool
	Type      NoticeType // 7 bits
	// Producer is 24 bits: the kind of node, or the VendorID of a vendor's.
	Producer ProducerType
	// Trap is the number, or the DeviceID of a vendor's.
	Trap      TrapNumber
	IssuerLID ib.LID
	// Toggle and Count are for a Get of the notices that a node keeps.
	Toggle bool
	Count  uint16 // 15 bits
	// Details are the event's own: see ParseDetails.
	Details NoticeDetails
	// IssuerGID is only in Reports: there is no room for it in an SMP.
	IssuerGID ib.GID
}

const (
	noticeDetailsLen = 54
	noticeSMPLen     = 64
	noticeLen        = 80
	noticeCountMask  = 0x7FFF
)

// NoticeDetails is the part of a notice that each event defines.
type NoticeDetails [noticeDetailsLen]byte

// NoticeType is how grave an event is.
type NoticeType uint8

// The types.
const (
	NoticeFatal NoticeType = iota
	NoticeUrgent
	NoticeSecurity
	NoticeSubnetManagement
	NoticeInformational
	NoticeEmpty NoticeType = 0x7F // no notice is waiting
)

// String names the type.
func (t NoticeType) String() string {
	switch t {
	case NoticeFatal:
		return "Fatal"
	case NoticeUrgent:
		return "Urgent"
	case NoticeSecurity:
		return "Security"
	case NoticeSubnetManagement:
		return "SubnetManagement"
	case NoticeInformational:
		return "Informational"
	case NoticeEmpty:
		return "Empty"
	default:
		return fmt.Sprintf("NoticeType(%#02x)", uint8(t))
	}
}

// ProducerType is what kind of node an event is of, 24 bits.
type ProducerType uint32

// The kinds of producers.
const (
	ProducerCA ProducerType = 1 + iota
	ProducerSwitch
	ProducerRouter
	ProducerManager // of a class, such as the subnet manager
)

// String names the kind.
func (p ProducerType) String() string {
	switch p {
	case ProducerCA:
		return "CA"
	case ProducerSwitch:
		return "Switch"
	case ProducerRouter:
		return "Router"
	case ProducerManager:
		return "ClassManager"
	default:
		return fmt.Sprintf("ProducerType(%#06x)", uint32(p))
	}
}

// ParseNotice reads the 80 bytes at the start of b. If there are fewer, but 64,
// as in an SMP, the issuer's GID is zero.
func ParseNotice(b []byte) (Notice, error) {
	if err := need("Notice", b, noticeSMPLen); err != nil {
		return Notice{}, err
	}
	count := be.Uint16(b[8:])
	n := Notice{
		IsGeneric: b[0]>>7 != 0, Type: NoticeType(b[0] & 0x7F),
		Producer: ProducerType(uint24(b[1:])), Trap: TrapNumber(be.Uint16(b[4:])),
		IssuerLID: ib.LID(be.Uint16(b[6:])),
		Toggle:    count>>15 != 0, Count: count & noticeCountMask,
		Details: NoticeDetails(b[10:noticeSMPLen]),
	}
	if len(b) >= noticeLen {
		n.IssuerGID = ib.GID(b[noticeSMPLen:noticeLen])
	}
	return n, nil
}

// Len is 64, which fits into an SMP, if the issuer's GID is zero, else 80.
func (n Notice) Len() int {
	if n.IssuerGID.IsValid() {
		return noticeLen
	}
	return noticeSMPLen
}

// AppendTo appends the 64 or 80 bytes.
func (n Notice) AppendTo(b []byte) []byte {
	b, p := grow(b, n.Len())
	p[0] = flag(n.IsGeneric, 0x80) | byte(n.Type)&0x7F
	putUint24(p[1:], uint32(n.Producer))
	be.PutUint16(p[4:], uint16(n.Trap))
	be.PutUint16(p[6:], uint16(n.IssuerLID))
	be.PutUint16(p[8:], n.Count&noticeCountMask)
	p[8] |= flag(n.Toggle, 0x80)
	copy(p[10:], n.Details[:])
	copy(p[noticeSMPLen:], n.IssuerGID[:])
	return b
}
