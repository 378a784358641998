package umad

import (
	"errors"
	"time"

	"heddle/ib"
	"heddle/mad"
)

// Device is one port of a node that moves datagrams, without memory of what
// was asked. Receive is called by one goroutine, all other methods by any, at
// any time; Close ends a Receive that waits. umadtest.Run tests all of what
// follows.
type Device interface {
	// Info reads the state of the port as it is now.
	Info() (Info, error)
	// Register asks for the datagrams of a class: answers to what is sent in
	// it, and requests of the agent's methods. A datagram of another class is
	// never delivered; a request of another method may be. Registering a class
	// again adds methods. The error of a method that is registered, here or by
	// somebody else on the port, wraps ErrClassTaken; that of a class that the
	// port does not carry wraps ErrClassUnsupported.
	Register(a Agent) error
	// Send sends m, and does not keep it. It never waits for a Receive: the
	// goroutine that receives sends as well. A datagram that finds no room is
	// lost, as any other may be. A timeout above zero says that m is a request
	// that waits for an answer: a device with Features.Timers delivers m once
	// more, with Err set, when there was none in time; a device without may do
	// so where it learns early that there will be none. Of a request's
	// transaction ID, the device may overwrite the upper 32 bits; an answer's
	// stays whole. After Close it returns net.ErrClosed.
	Send(m *Message, timeout time.Duration) error
	// Receive waits for the next datagram and stores it in m, whose Data is
	// reused where its capacity is enough. The address is one that an answer
	// can be sent to as it is. Each error is final: the device passes over
	// what it can not read. After Close it is net.ErrClosed.
	Receive(m *Message) error
	// SetIsSM sets the port's capability bit that says: here is a subnet
	// manager. It fails with ErrBusy where another has set it, and with
	// ErrNotInfiniBand where the port has no such bit.
	SetIsSM(on bool) error
	// Features is the same at any time.
	Features() Features
	// Close frees the device and what it registered. A second Close does
	// nothing.
	Close() error
}

// Features is what a device does by itself; a Port does the rest.
type Features struct {
	// Timers: a request without an answer comes back when its time is over.
	Timers bool
	// RMPP: messages longer than a datagram are cut and put together below.
	// Messages of a class that uses RMPP are then whole ones: where the RMPP
	// header says Active, the headers of the first segment and exactly all of
	// the data.
	RMPP bool
	// Deaf says that at the queue pairs 0 and 1 of other ports there may be
	// programs that take the first datagram of an answer by RMPP for all of it,
	// and that what comes after it may harm.
	Deaf bool
}

// Agent is what Register asks for.
type Agent struct {
	Class   mad.Class
	Version uint8
	// Methods are the requests to deliver; none where only answers are wanted.
	Methods []mad.Method
	// OUI is that of a vendor class of 0x30 to 0x4F, 0 for others.
	OUI uint32
	// RMPP says that the class uses RMPP.
	RMPP bool
}

// Message is a datagram, or a whole message of several by RMPP, and the
// address of the other side: whom it goes to, or whom it came from.
type Message struct {
	Address
	// Data is mad.Size bytes; for a message by RMPP the headers of its first
	// segment and then all of its data, which may be less or more.
	Data []byte
	// Err is set in a message that Receive returned when Data is a request of
	// our own that came back, of which only the common header counts:
	// ErrTimeout.
	Err error
}

// Address is where a datagram goes to or came from.
type Address struct {
	// LID is ib.PermissiveLID for a pure directed route.
	LID ib.LID
	QPN ib.QPN
	// QKey is that of the other side; 0 for QP 0.
	QKey ib.QKey
	SL   ib.SL
	// PathBits are the low bits of the own LID that the datagram used.
	PathBits uint8
	// PKeyIndex is the index in the own P_Key table.
	PKeyIndex uint16
	// GRH is the global route; nil where there is none. It is the only way to
	// address a port of RoCE.
	GRH *GRH
}

// GRH is the global route header of a datagram.
type GRH struct {
	// GID is that of the other side, GIDIndex the index in the own table.
	GID          ib.GID
	GIDIndex     uint8
	HopLimit     uint8
	TrafficClass uint8
	FlowLabel    uint32
}

// ToLID is the address of the general services of a port: QP 1.
func ToLID(lid ib.LID) Address { return Address{LID: lid, QPN: ib.GSIQPN, QKey: ib.GSIQKey} }

// ToSMA is the address of the subnet management of a port by LID: QP 0.
func ToSMA(lid ib.LID) Address { return Address{LID: lid} }

// ByRoute is the address of a datagram whose route is in itself.
func ByRoute() Address { return Address{LID: ib.PermissiveLID} }

// Info is what is known of a port.
type Info struct {
	// Name is how messages name the port.
	Name     string
	Device   string
	Port     uint8
	NodeGUID ib.GUID
	PortGUID ib.GUID
	Prefix   uint64 // of the subnet
	LID      ib.LID
	LMC      uint8
	SMLID    ib.LID
	SMSL     ib.SL
	State    mad.PortState
	PKeys    []ib.PKey
	// QPN is the queue pair of general services where that is not QP 1: that
	// of a client of ibsim is its own. Else it is 0.
	QPN ib.QPN
	// Capabilities is PortInfo:CapabilityMask.
	Capabilities uint32
}

// GID is the port's first GID.
func (i Info) GID() ib.GID { return ib.NewGID(i.Prefix, i.PortGUID) }

// What can be wrong with a device or a request; errors wrap them.
var (
	// ErrTimeout is the error of a request that was not answered in time.
	ErrTimeout = errors.New("not answered in time")
	// ErrNoDevice says that there is no such device or port.
	ErrNoDevice = errors.New("no such device")
	// ErrNotInfiniBand says that the port is one of Ethernet, without the
	// management of a subnet.
	ErrNotInfiniBand = errors.New("not an InfiniBand port")
	// ErrBusy says that somebody else is the subnet manager of the port.
	ErrBusy = errors.New("busy")
	// ErrClassTaken says that another agent has the class and method.
	ErrClassTaken = errors.New("class taken by another agent")
	// ErrClassUnsupported says that the port does not carry the class.
	ErrClassUnsupported = errors.New("class not supported by the port")
	// ErrTooMuch says that a Port carries all that it may by RMPP.
	ErrTooMuch = errors.New("too much on the way by RMPP")
)
