package mad

import "bytes"

// NodeDescription is the name of a node, UTF-8 by the standard and anything in
// practice, ended by a zero byte where it is shorter (IBTA 1, 14.2.5.2).
type NodeDescription [64]byte

// NewNodeDescription takes the first 64 bytes of s.
func NewNodeDescription(s string) (d NodeDescription) {
	copy(d[:], s)
	return d
}

// ParseNodeDescription reads the 64 bytes at the start of b.
func ParseNodeDescription(b []byte) (NodeDescription, error) {
	if err := need("NodeDescription", b, len(NodeDescription{})); err != nil {
		return NodeDescription{}, err
	}
	return NodeDescription(b), nil
}

// Len is 64.
func (d NodeDescription) Len() int { return len(d) }

// AppendTo appends the 64 bytes.
func (d NodeDescription) AppendTo(b []byte) []byte { return append(b, d[:]...) }

// String gives the text up to the first zero byte.
func (d NodeDescription) String() string {
	text, _, _ := bytes.Cut(d[:], []byte{0})
	return string(text)
}
