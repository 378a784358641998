package format

import (
	"bytes"
	"io"

	"heddle/fabric"
)

// ibnetdiscover is the output of infiniband-diags' ibnetdiscover, in all its
// versions: with and without the GUIDs of ports, with --full, and grouped by
// chassis. It does not tell how many multicast groups a switch can forward, and
// nothing of ports without a cable.
var ibnetdiscover = Format{
	Name:       "ibnetdiscover",
	About:      "what ibnetdiscover prints of a subnet; ibsim reads it too",
	Extensions: []string{".topo", ".ibnetdiscover", ".ibnd"},
	Detect: func(head []byte) bool {
		d, ok := netDialect(head)
		return ok && d == discovered
	},
	Read: func(r io.Reader, name string) (*fabric.Fabric, []fabric.Fault, error) {
		return readNet(r, name, discovered)
	},
	Write: func(w io.Writer, f *fabric.Fabric) error {
		return writeNet(w, f, discovered)
	},
}

// netDialect tells whose netlist begins with head. The first header decides,
// by its ID; where there is none, the lines that ibnetdiscover alone writes.
func netDialect(head []byte) (d dialect, ok bool) {
	for line := range bytes.Lines(head) {
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		switch {
		case bytes.HasPrefix(line, []byte("# Topology file:")):
			return discovered, true
		case bytes.HasPrefix(line, []byte(ibsimTitle)):
			return simulated, true
		}
		s := scan{line}
		word := string(s.letters())
		switch {
		case headerKind(word) != 0 && looksLikeHeader(s.rest):
			_, id, _, _ := parseHeader(s.rest)
			if _, own := guidOfID(string(id)); own && word != "Hca" {
				return discovered, true
			}
			return simulated, true
		case (word == "vendid" || word == "sysimgguid") && s.take("=0x"):
			ok = true
		}
	}
	return discovered, ok
}
