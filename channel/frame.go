package channel

import (
	"encoding/binary"
	"fmt"
	"io"
)

// frameType is what a frame of a link says. A frame is its length (4 bytes, of
// what follows), its type (1), the length of a channel's name (1), the name and
// what is said; numbers are big endian.
type frameType uint8

const (
	refuseFrame   frameType = iota + 1 // why the link ends
	proofFrame                         // that the secret is known
	offerFrame                         // the hello of a channel's end
	attachedFrame                      // the end is attached, or why it is not
	finishFrame                        // how many messages were sent in all
	knownFrame                         // that the peer knows that
)

func frameOf(kind frameType, name string, body []byte) ([]byte, error) {
	n := 2 + len(name) + len(body)
	if len(name) > maxName || n > maxFrame {
		return nil, fmt.Errorf("a frame of %d bytes, the limit is %d: %w", n, maxFrame, ErrInvalid)
	}
	b := binary.BigEndian.AppendUint32(make([]byte, 0, 4+n), uint32(n))
	b = append(b, byte(kind), byte(len(name)))
	return append(append(b, name...), body...), nil
}

// readFrame reads one. A peer that says that it is longer than any is not waited
// for.
func readFrame(r io.Reader) (kind frameType, name string, body []byte, err error) {
	var head [6]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return 0, "", nil, err
	}
	n, names := int(binary.BigEndian.Uint32(head[:])), int(head[5])
	if n > maxFrame || n < 2+names {
		return 0, "", nil, fmt.Errorf("a frame of %d bytes with a name of %d: %w", n, names, ErrInvalid)
	}
	b := make([]byte, n-2)
	if _, err = io.ReadFull(r, b); err != nil {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return 0, "", nil, err
	}
	return frameType(head[4]), string(b[:names]), b[names:], nil
}

func appendCount(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

func parseCount(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a count of %d bytes: %w", len(b), ErrInvalid)
	}
	return binary.BigEndian.Uint64(b), nil
}
