package cm

import (
	"encoding/binary"
	"fmt"
	"net/netip"

	"heddle/ib"
	"heddle/verbs"
)

// The commands of /dev/infiniband/rdma_cm, as the kernel's rdma_user_cm.h has
// them (version 4): a header, and the command's structure. Numbers are in the
// machine's byte order where nothing else is said.

// command is a command's number.
type command uint32

const (
	createID     command = 0
	destroyID    command = 1
	resolveRoute command = 4
	connect      command = 6
	listen       command = 7
	accept       command = 8
	reject       command = 9
	disconnect   command = 10
	initQPAttr   command = 11
	getEvent     command = 12
	migrateID    command = 18
	query        command = 19
	bind         command = 20
	resolveAddr  command = 21
)

// What query can be asked for.
const (
	queryAddr = 0
	queryPath = 1
	queryGID  = 2
)

// Sizes of what the kernel answers, and of parts.
const (
	idSize       = 4
	addrSize     = 280
	pathsSize    = 8 + 6*pathSize
	pathSize     = 8 + 64
	qpAttrSize   = 144
	eventSize    = 336
	paramSize    = 272
	privateSize  = 256
	storageSize  = 128 // of any socket address
	portSpaceTCP = 0x0106
	typeRC       = 2
)

var native = binary.NativeEndian

// header begins a command that has in bytes, and is answered by up to out.
func header(c command, in, out int) []byte {
	b := native.AppendUint32(make([]byte, 0, 8+in), uint32(c))
	b = native.AppendUint16(b, uint16(in))
	return native.AppendUint16(b, uint16(out))
}

// pad makes b as long as a field that it is the beginning of.
func pad(b []byte, size int) []byte { return append(b, make([]byte, max(0, size-len(b)))...) }

// storage is an IP address as a socket address, in the room for any of them.
func storage(a netip.AddrPort, zone uint32) (b []byte, size int) {
	const v4, v6 = 2, 10
	ip := a.Addr().Unmap()
	switch {
	case !a.IsValid():
		return make([]byte, storageSize), 0
	case ip.Is4():
		b = native.AppendUint16(b, v4)
		b = binary.BigEndian.AppendUint16(b, a.Port())
		b = append(b, ip.AsSlice()...)
		return pad(b, storageSize), 16
	default:
		b = native.AppendUint16(b, v6)
		b = binary.BigEndian.AppendUint16(b, a.Port())
		b = append(b, 0, 0, 0, 0)
		b = append(b, ip.AsSlice()...)
		b = native.AppendUint32(b, zone)
		return pad(b, storageSize), 28
	}
}

// address reads one; it is not valid where there is none.
func address(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	switch native.Uint16(b) {
	case 2:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case 10:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port)
	}
	return netip.AddrPort{}
}

// where is what the kernel knows of an ID's addresses.
type where struct {
	guid          ib.GUID // of the device; 0 while there is none
	port          uint8
	pkey          ib.PKey
	local, remote netip.AddrPort
}

func parseWhere(b []byte) where {
	return where{
		guid: ib.GUID(binary.BigEndian.Uint64(b)), port: b[8], pkey: ib.PKey(binary.BigEndian.Uint16(b[10:])),
		local: address(b[16:]), remote: address(b[16+storageSize:]),
	}
}

// parseGID reads the answer to queryGID: the address of AF_IB of this side.
func parseGID(b []byte) (ib.GID, error) {
	const family = 27
	if native.Uint16(b[16:]) != family {
		return ib.GID{}, fmt.Errorf("the kernel tells no GID, but an address of family %d: %w", native.Uint16(b[16:]), verbs.ErrInvalid)
	}
	return ib.GID(b[16+8 : 16+24]), nil
}

// parseSL reads the answer to queryPath: the service level of the first path, a
// PathRecord (IBTA 15.2.5.16), or 0 where there is none, as on Ethernet.
func parseSL(b []byte) ib.SL {
	if native.Uint32(b) == 0 {
		return 0
	}
	return ib.SL(b[8+8+53] & 15)
}

// connParam is what both sides say when they connect.
type connParam struct {
	qpn                ib.QPN
	private            []byte
	readsIn, readsOut  uint8
	retries, rnrRetry  uint8
	valid, flowControl bool
}

func (p *connParam) bytes() []byte {
	b := native.AppendUint32(make([]byte, 0, paramSize), uint32(p.qpn))
	b = native.AppendUint32(b, 0)
	b = pad(append(b, p.private...), 8+privateSize)
	return append(b, byte(len(p.private)), 0, p.readsIn, p.readsOut, flag(p.flowControl), p.retries, p.rnrRetry, flag(p.valid))
}

func flag(on bool) byte {
	if on {
		return 1
	}
	return 0
}

// event is what the kernel has to tell of an ID.
type event struct {
	id      uint32
	kind    eventKind
	status  int32
	private []byte // of the peer
}

func parseEvent(b []byte) (*event, error) {
	e := &event{id: native.Uint32(b[8:]), kind: eventKind(native.Uint32(b[12:])), status: int32(native.Uint32(b[16:]))}
	private := b[20+8 : 20+8+privateSize]
	if n := int(b[20+8+privateSize]); n <= len(private) {
		e.private = append([]byte(nil), private[:n]...)
	}
	if int(e.kind) >= len(eventNames) {
		return nil, fmt.Errorf("event %d of the connection manager: %w", e.kind, verbs.ErrInvalid)
	}
	return e, nil
}

// eventKind is the number of an event.
type eventKind uint32

const (
	addrResolved eventKind = iota
	addrError
	routeResolved
	routeError
	connectRequest
	connectResponse
	connectError
	unreachable
	rejected
	established
	disconnected
	deviceRemoval
)

var eventNames = [...]string{
	"address resolved", "address error", "route resolved", "route error", "connect request", "connect response",
	"connect error", "unreachable", "rejected", "established", "disconnected", "device removed", "multicast join",
	"multicast error", "address change", "end of TIMEWAIT",
}

func (k eventKind) String() string { return eventNames[min(int(k), len(eventNames)-1)] }

// parseReceive and parseSend read what initQPAttr answers for RTR and for RTS.
func parseReceive(b []byte, a *verbs.CMAttr) {
	grh, ah := b[40:64], b[64:72]
	a.MTU = ib.MTU(native.Uint32(b[12:]))
	a.RecvPSN = native.Uint32(b[24:])
	a.DestQPN = ib.QPN(native.Uint32(b[32:]))
	a.GID, a.FlowLabel = ib.GID(grh[:16]), native.Uint32(grh[16:])
	a.GIDIndex, a.HopLimit, a.Class = grh[20], grh[21], grh[22]
	a.DLID, a.SL, a.PathBits = ib.LID(native.Uint16(ah)), ib.SL(ah[2]), ah[3]
	a.Rate, a.Global, a.Port = ib.Rate(ah[4]), ah[5] != 0, ah[6]
	a.ReadsIn = b[131]
}

func parseSend(b []byte, a *verbs.CMAttr) {
	a.SendPSN = native.Uint32(b[28:])
	a.ReadsOut, a.Timeout, a.Retries, a.RNRRetries = b[130], b[134], b[135], b[136]
}
