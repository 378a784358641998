package mad

import "fmt"

// TrapNumber says which event a generic notice is of (IBTA 1, 14.2.5.1).
type TrapNumber uint16

// The events.
const (
	TrapGIDInService    TrapNumber = 64 // GIDDetails
	TrapGIDOutOfService TrapNumber = 65 // GIDDetails
	TrapGroupCreated    TrapNumber = 66 // GIDDetails
	TrapGroupDeleted    TrapNumber = 67 // GIDDetails
	TrapLinkState       TrapNumber = 128
	TrapLinkIntegrity   TrapNumber = 129 // PortErrorDetails
	TrapBufferOverrun   TrapNumber = 130 // PortErrorDetails
	TrapFlowControl     TrapNumber = 131 // PortErrorDetails
	TrapLocalChanges    TrapNumber = 144
	TrapSystemImage     TrapNumber = 145
	TrapBadMKey         TrapNumber = 256
	TrapBadPKey         TrapNumber = 257 // BadKeyDetails
	TrapBadQKey         TrapNumber = 258 // BadKeyDetails
	TrapSwitchBadPKey   TrapNumber = 259

	// TrapAll is for a subscription to all of them.
	TrapAll TrapNumber = 0xFFFF
)

// String names the event, as in "128 LinkState".
func (t TrapNumber) String() string {
	if name := t.name(); name != "" {
		return fmt.Sprintf("%d %s", uint16(t), name)
	}
	return fmt.Sprintf("%d", uint16(t))
}

func (t TrapNumber) name() string {
	switch t {
	case TrapGIDInService:
		return "GIDInService"
	case TrapGIDOutOfService:
		return "GIDOutOfService"
	case TrapGroupCreated:
		return "GroupCreated"
	case TrapGroupDeleted:
		return "GroupDeleted"
	case TrapLinkState:
		return "LinkState"
	case TrapLinkIntegrity:
		return "LinkIntegrity"
	case TrapBufferOverrun:
		return "BufferOverrun"
	case TrapFlowControl:
		return "FlowControl"
	case TrapLocalChanges:
		return "LocalChanges"
	case TrapSystemImage:
		return "SystemImage"
	case TrapBadMKey:
		return "BadMKey"
	case TrapBadPKey:
		return "BadPKey"
	case TrapBadQKey:
		return "BadQKey"
	case TrapSwitchBadPKey:
		return "SwitchBadPKey"
	case TrapAll:
		return "all"
	default:
		return ""
	}
}

// Type is how grave the event is: Informational for one that is not known.
func (t TrapNumber) Type() NoticeType {
	switch t {
	case TrapGIDInService, TrapGIDOutOfService, TrapGroupCreated, TrapGroupDeleted:
		return NoticeSubnetManagement
	case TrapLinkState, TrapLinkIntegrity, TrapBufferOverrun, TrapFlowControl:
		return NoticeUrgent
	case TrapBadMKey, TrapBadPKey, TrapBadQKey, TrapSwitchBadPKey:
		return NoticeSecurity
	default:
		return NoticeInformational
	}
}

// Details is what a notice tells of its event: a type for each layout.
type Details interface {
	// Pack gives the details as they stand in a notice.
	Pack() NoticeDetails
}

// ParseDetails reads what a generic notice tells of its event. ok is false
// where the notice is a vendor's, or of an event that is not known.
func (n Notice) ParseDetails() (d Details, ok bool) {
	if !n.IsGeneric {
		return nil, false
	}
	switch n.Trap {
	case TrapGIDInService, TrapGIDOutOfService, TrapGroupCreated, TrapGroupDeleted:
		return parseGIDDetails(&n.Details), true
	case TrapLinkState:
		return parseLinkStateDetails(&n.Details), true
	case TrapLinkIntegrity, TrapBufferOverrun, TrapFlowControl:
		return parsePortErrorDetails(&n.Details), true
	case TrapLocalChanges:
		return parseLocalChangesDetails(&n.Details), true
	case TrapSystemImage:
		return parseSystemImageDetails(&n.Details), true
	case TrapBadMKey:
		return parseBadMKeyDetails(&n.Details), true
	case TrapBadPKey, TrapBadQKey:
		return parseBadKeyDetails(&n.Details), true
	case TrapSwitchBadPKey:
		return parseSwitchBadPKeyDetails(&n.Details), true
	default:
		return nil, false
	}
}

// NewNotice makes the generic notice of an event; its type is that of the
// trap. The issuer's address is left to the caller.
func NewNotice(trap TrapNumber, producer ProducerType, d Details) Notice {
	return Notice{IsGeneric: true, Type: trap.Type(), Producer: producer, Trap: trap, Details: d.Pack()}
}
