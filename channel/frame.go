package channel

import (
	"encoding/binary"
	"errors"
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
	attachedFrame                      // the end is attached, or why it is not, see verdictOf
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

// verdicts are the errors that a peer is told of by what they are.
var verdicts = [...]error{1: ErrInvalid, 2: ErrLimit, 3: ErrBusy, 4: ErrNotSupported, 5: ErrClosed, 6: ErrPeerGone}

// verdictOf is what an attachedFrame says: nothing where all went well, or else
// which of verdicts it is (1 byte), and why.
func verdictOf(err error) []byte {
	if err == nil {
		return nil
	}
	which, text := 1, err.Error()
	for i, sentinel := range verdicts {
		if sentinel != nil && errors.Is(err, sentinel) {
			which = i
		}
	}
	return append([]byte{byte(which)}, text[:min(len(text), maxName)]...)
}

func parseVerdict(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	sentinel := ErrInvalid
	if which := int(b[0]); which > 0 && which < len(verdicts) {
		sentinel = verdicts[which]
	}
	return fmt.Errorf("the peer says: %q: %w", b[1:], sentinel)
}

func appendCount(b []byte, n uint64) []byte { return binary.BigEndian.AppendUint64(b, n) }

func parseCount(b []byte) (uint64, error) {
	if len(b) != 8 {
		return 0, fmt.Errorf("a count of %d bytes: %w", len(b), ErrInvalid)
	}
	return binary.BigEndian.Uint64(b), nil
}
