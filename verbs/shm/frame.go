//go:build linux && (amd64 || arm64)

package shm

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"heddle/ib"
	"heddle/verbs"
)

// endpoint names a QP: the socket of its context, and what a peer has to know to
// be let in.
type endpoint struct {
	Name   [16]byte
	Secret [16]byte
	QPN    ib.QPN
	QKey   ib.QKey
	Type   verbs.QPType
}

const (
	endpointMagic = "shm1"
	endpointSize  = 4 + 16 + 16 + 4 + 4 + 1
)

// socket is the abstract name of the context's socket.
func (e *endpoint) socket() *net.UnixAddr {
	return &net.UnixAddr{Net: "unixpacket", Name: "@heddle-shm-" + hex.EncodeToString(e.Name[:])}
}

// AppendTo encodes it.
func (e *endpoint) AppendTo(b []byte) []byte {
	b = append(b, endpointMagic...)
	b = append(b, e.Name[:]...)
	b = append(b, e.Secret[:]...)
	b = binary.BigEndian.AppendUint32(b, uint32(e.QPN))
	b = binary.BigEndian.AppendUint32(b, uint32(e.QKey))
	return append(b, byte(e.Type))
}

// parseEndpoint decodes one; the error wraps ErrInvalid.
func parseEndpoint(b []byte) (e endpoint, err error) {
	if len(b) != endpointSize || string(b[:4]) != endpointMagic {
		return e, fmt.Errorf("an endpoint of %d bytes is not one of shm: %w", len(b), verbs.ErrInvalid)
	}
	copy(e.Name[:], b[4:])
	copy(e.Secret[:], b[20:])
	e.QPN = ib.QPN(binary.BigEndian.Uint32(b[36:]))
	e.QKey = ib.QKey(binary.BigEndian.Uint32(b[40:]))
	if e.Type = verbs.QPType(b[44]); e.Type < verbs.RC || e.Type > verbs.UD {
		return endpoint{}, fmt.Errorf("an endpoint of type %v: %w", e.Type, verbs.ErrInvalid)
	}
	return e, nil
}

// frameKind is what a message between the sockets of two QPs is.
type frameKind uint8

const (
	helloFrame   frameKind = iota + 1 // of who dials: From, To's secret; ring, page, board
	welcomeFrame                      // the answer: page, board
	askFrame                          // for the region of Key
	regionFrame                       // the answer: with its file, or without any for no such region
	kickFrame                         // the sender waits: look at the ring
	faultFrame                        // Status is what the sender's request came to
	offerFrame                        // a region of the sender's, to read what it SENDs from there: with its file
	takenFrame                        // the answer: Status is whether it will be read
	byeFrame                          // the QP is closed or reset
)

// maxFiles is how many descriptors come with a frame at most.
const maxFiles = 3

// frame is such a message. All have the same form; what a kind does not need is
// zero.
type frame struct {
	Kind   frameKind
	Access verbs.Access // of the QP, or of the region
	Times  uint8        // that the region is mapped one after the other
	Status verbs.Status
	Key    uint32 // remote key of the region
	To     ib.QPN
	RNR    time.Duration // that peers wait, microseconds
	// Base and Size are the region as its owner calls it, Offset is where it is
	// in its file, Generation what its valid word holds.
	Base, Size, Offset, Generation uint64
	Secret                         [16]byte // of To
	From                           endpoint
}

const (
	frameVersion = 2
	frameSize    = 5 + 4 + 4 + 4 + 4*8 + 16 + endpointSize
)

// AppendTo encodes it.
func (f *frame) AppendTo(b []byte) []byte {
	b = append(b, frameVersion, byte(f.Kind), byte(f.Access), f.Times, byte(f.Status))
	b = binary.BigEndian.AppendUint32(b, f.Key)
	b = binary.BigEndian.AppendUint32(b, uint32(f.To))
	b = binary.BigEndian.AppendUint32(b, uint32(f.RNR.Microseconds()))
	for _, v := range [...]uint64{f.Base, f.Size, f.Offset, f.Generation} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	b = append(b, f.Secret[:]...)
	return f.From.AppendTo(b)
}

// parseFrame decodes one; the error wraps ErrInvalid.
func parseFrame(b []byte) (f frame, err error) {
	if len(b) != frameSize || b[0] != frameVersion {
		return f, fmt.Errorf("a frame of %d bytes: %w", len(b), verbs.ErrInvalid)
	}
	f.Kind, f.Access, f.Times, f.Status = frameKind(b[1]), verbs.Access(b[2]), b[3], verbs.Status(b[4])
	if f.Kind < helloFrame || f.Kind > byeFrame {
		return frame{}, fmt.Errorf("a frame of kind %d: %w", f.Kind, verbs.ErrInvalid)
	}
	f.Key = binary.BigEndian.Uint32(b[5:])
	f.To = ib.QPN(binary.BigEndian.Uint32(b[9:]))
	f.RNR = time.Duration(binary.BigEndian.Uint32(b[13:])) * time.Microsecond
	for i, v := range [...]*uint64{&f.Base, &f.Size, &f.Offset, &f.Generation} {
		*v = binary.BigEndian.Uint64(b[17+8*i:])
	}
	copy(f.Secret[:], b[49:])
	if f.From, err = parseEndpoint(b[65:]); err != nil {
		return frame{}, err
	}
	return f, nil
}

// queued is the room in a socket for frames that were not read, some 40 of them.
// A peer that keeps to the rules has four there at most.
const queued = 16 << 10

// errFull is that there is no room for a frame: the peer does not read.
var errFull = errors.New("the peer does not read its socket")

// send writes a frame, and with it descriptors, which stay the caller's. It does
// not wait, for it is called with locks held, and the peer may be stopped.
func send(conn *net.UnixConn, f *frame, files ...*os.File) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var room [frameSize]byte
	b, oob, failed := f.AppendTo(room[:0]), rights(files), error(nil)
	if err := raw.Write(func(fd uintptr) bool { failed = sendNow(int(fd), b, oob); return true }); err != nil {
		return err
	}
	return failed
}

// receive reads a frame. The files that come with it are the caller's.
func receive(conn *net.UnixConn) (f frame, files []*os.File, err error) {
	var b [frameSize + 1]byte
	oob := make([]byte, oobSize)
	n, oobn, _, _, err := conn.ReadMsgUnix(b[:], oob)
	files, failed := filesOf(oob[:oobn]) // there may be some with no bytes, which looks like the end
	if err = cmp.Or(err, failed); err == nil {
		f, err = parseFrame(b[:n])
	}
	if err != nil {
		return frame{}, nil, errors.Join(err, closeFiles(files))
	}
	return f, files, nil
}

func closeFiles(files []*os.File) (err error) {
	for _, f := range files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}
