package format

import (
	"bytes"
	"fmt"
	"io"

	"heddle/fabric"
)

// ibsimNet is the net file of the simulator ibsim: nodes with free IDs, often
// without names, LIDs and GUIDs. Nodes without a GUID get the one that ibsim
// would give them, and so do all ports.
//
// Of ibsim's extensions, the options w=, s= and e= of a port, width=, speed=
// and extspeed= for the ports that follow, GUID bases, relative ones too, and
// `do link` are followed; `include` and `module` are faults.
var ibsimNet = Format{
	Name:       "ibsim",
	About:      "net files of the simulator ibsim",
	Extensions: []string{".net"},
	Detect: func(head []byte) bool {
		d, ok := netDialect(head)
		return ok && d == simulated
	},
	Read: func(r io.Reader, name string) (*fabric.Fabric, []fabric.Fault, error) {
		return readNet(r, name, simulated)
	},
	Write: func(w io.Writer, f *fabric.Fabric) error {
		return writeNet(w, f, simulated)
	},
}

// command takes a line that only ibsim knows; false for any other.
func (n *netReader) command(word string, rest []byte) bool {
	switch word {
	case "include", "module":
		n.Report(fabric.Fault{
			Kind: fabric.FaultSyntax, Severity: fabric.Error, At: n.at(),
			Text: fmt.Sprintf("%s is not followed: put all nodes into one file, under their full IDs", word),
		})
	case "do":
		s := scan{rest}
		if !bytes.EqualFold(s.word(), []byte("link")) || !n.link(s) {
			n.warn(fabric.FaultNoise, "console command not followed: %s", shown(bytes.TrimSpace(rest)))
		}
	case "pdebug":
	default:
		return false
	}
	return true
}

// link takes the arguments of a link command: "a"[1] "b"[2].
func (n *netReader) link(s scan) bool {
	a, pa, ok := s.quotedPort()
	if !ok {
		return false
	}
	b, pb, ok := s.quotedPort()
	from, known := n.Lookup(string(a))
	if !ok || !known || pa > int(n.Node(from).NumPorts) || pb > 1<<16-1 {
		return false
	}
	w := portWord{
		from: fabric.End{Node: from, Port: uint16(pa)}, peer: n.names.ref(b), peerPort: uint16(pb),
		line: int32(n.num), rate: n.defaults.rate(), both: true,
	}
	n.mention(w, comment{})
	if n.cable() {
		n.words = append(n.words, w)
	}
	return true
}

// quotedPort takes "id"[1].
func (s *scan) quotedPort() (id []byte, port int, ok bool) {
	s.space()
	if id, ok = s.between('"', '"'); !ok || !s.take("[") {
		return nil, 0, false
	}
	port, ok = s.number()
	return id, port, ok && s.take("]")
}
