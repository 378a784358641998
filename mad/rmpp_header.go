package mad

import "fmt"

// RMPPHeader is the header of the reliable multi-packet protocol, which stands
// behind the common header in the classes that use it (IBTA 1, 13.6.2).
type RMPPHeader struct {
	// Version is RMPPVersion, or 0 in a datagram that does not use RMPP.
	Version uint8
	Type    RMPPType
	// RespTime is 5 bits: the sender needs up to 4.096 us << RespTime to answer;
	// RMPPNoRespTime says nothing of it.
	RespTime uint8
	Flags    RMPPFlags
	Status   RMPPStatus
	// Data1 and Data2 are words of the type's own. RMPPData: the segment's
	// number from 1, and in the first and last segment the payload's length.
	// RMPPAck: the last segment received, and the last that may be sent. They
	// are reserved in the others.
	Data1, Data2 uint32
}

const (
	offRMPP       = headerLen
	rmppHeaderLen = 12
)

// RMPPVersion is the version of the protocol.
const RMPPVersion = 1

// RMPPNoRespTime is the RespTime that gives no time.
const RMPPNoRespTime = 0x1F

// RMPPType is what a datagram of RMPP is for.
type RMPPType uint8

// The types.
const (
	RMPPNone  RMPPType = iota // not a datagram of RMPP
	RMPPData                  // a segment
	RMPPAck                   // segments received, and how many more may come
	RMPPStop                  // no more, please: Status says why
	RMPPAbort                 // all is void: Status says why
)

// String names the type.
func (t RMPPType) String() string {
	switch t {
	case RMPPNone:
		return "none"
	case RMPPData:
		return "DATA"
	case RMPPAck:
		return "ACK"
	case RMPPStop:
		return "STOP"
	case RMPPAbort:
		return "ABORT"
	default:
		return fmt.Sprintf("RMPPType(%d)", uint8(t))
	}
}

// RMPPFlags is 3 bits.
type RMPPFlags uint8

// The flags.
const (
	RMPPActive RMPPFlags = 1 << iota // the datagram uses RMPP
	RMPPFirst                        // the first segment
	RMPPLast                         // the last segment

	rmppFlags = RMPPActive | RMPPFirst | RMPPLast
)

// RMPPStatus says why a transfer ended early (IBTA 1, 13.6.2.1). 128 to 191
// are the class's, 192 to 255 a vendor's.
type RMPPStatus uint8

// The statuses.
const (
	RMPPOK             RMPPStatus = 0
	RMPPResources      RMPPStatus = 1 // of a STOP
	RMPPTimeTooLong    RMPPStatus = 118
	RMPPBadLength      RMPPStatus = 119 // last flag and payload length disagree
	RMPPBadFirst       RMPPStatus = 120 // first flag and segment number disagree
	RMPPBadType        RMPPStatus = 121
	RMPPWindowTooSmall RMPPStatus = 122
	RMPPSegmentTooBig  RMPPStatus = 123
	RMPPBadStatus      RMPPStatus = 124
	RMPPBadVersion     RMPPStatus = 125
	RMPPTooManyRetries RMPPStatus = 126
	RMPPUnspecified    RMPPStatus = 127
)

var rmppStatusText = map[RMPPStatus]string{
	RMPPOK:             "ok",
	RMPPResources:      "resources exhausted",
	RMPPTimeTooLong:    "total time too long",
	RMPPBadLength:      "inconsistent last flag and payload length",
	RMPPBadFirst:       "inconsistent first flag and segment number",
	RMPPBadType:        "bad RMPP type",
	RMPPWindowTooSmall: "new window last too small",
	RMPPSegmentTooBig:  "segment number too big",
	RMPPBadStatus:      "illegal status",
	RMPPBadVersion:     "unsupported version",
	RMPPTooManyRetries: "too many retries",
	RMPPUnspecified:    "unspecified",
}

// String says what the status means.
func (s RMPPStatus) String() string {
	if text, ok := rmppStatusText[s]; ok {
		return text
	}
	return fmt.Sprintf("RMPPStatus(%d)", uint8(s))
}

// ParseRMPPHeader reads the 12 bytes at the start of b.
func ParseRMPPHeader(b []byte) (RMPPHeader, error) {
	if err := need("RMPP header", b, rmppHeaderLen); err != nil {
		return RMPPHeader{}, err
	}
	return rmppHeader(b), nil
}

func rmppHeader(b []byte) RMPPHeader {
	return RMPPHeader{
		Version: b[0], Type: RMPPType(b[1]), RespTime: b[2] >> 3,
		Flags: RMPPFlags(b[2]) & rmppFlags, Status: RMPPStatus(b[3]),
		Data1: be.Uint32(b[4:]), Data2: be.Uint32(b[8:]),
	}
}

// AppendTo appends the 12 bytes of the header.
func (h RMPPHeader) AppendTo(b []byte) []byte {
	b = append(b, h.Version, byte(h.Type), h.RespTime<<3|byte(h.Flags&rmppFlags), byte(h.Status))
	b = be.AppendUint32(b, h.Data1)
	return be.AppendUint32(b, h.Data2)
}

// RMPP reads the RMPP header of a datagram whose class has one: subnet
// administration, and the vendor classes with an OUI.
func (d *Datagram) RMPP() RMPPHeader { return rmppHeader(d[offRMPP:]) }

// SetRMPP writes the RMPP header and leaves the rest as it is.
func (d *Datagram) SetRMPP(h RMPPHeader) { h.AppendTo(d[offRMPP:offRMPP]) }
