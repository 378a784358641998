package format

import (
	"fmt"
	"strings"

	"heddle/fabric"
)

// fileIDs are the IDs of a fabric's nodes in a file. Those that could not be
// read back are replaced.
type fileIDs struct {
	f        *fabric.Fabric
	good     func(id string) bool
	replaced map[fabric.NodeID]string
	taken    map[string]bool
}

func (n *fileIDs) of(id fabric.NodeID) string {
	node := n.f.Node(id)
	if n.good(node.ID) {
		return node.ID
	}
	if text, ok := n.replaced[id]; ok {
		return text
	}
	if n.replaced == nil {
		n.replaced, n.taken = map[fabric.NodeID]string{}, map[string]bool{}
	}
	text := n.free(fabric.DefaultID(node.Kind, node.GUID), id)
	n.replaced[id], n.taken[text] = text, true
	return text
}

// free is a text like the wanted one that no other node has.
func (n *fileIDs) free(want string, id fabric.NodeID) string {
	if _, taken := n.f.ByID(want); !taken && !n.taken[want] {
		return want
	}
	return n.free(fmt.Sprintf("%s-%d", want, id), id)
}

// goodNetID tells whether an ID can stand in a netlist.
func goodNetID(id string) bool {
	const most = 64 // of ibsim
	return id != "" && len(id) <= most && printable(id) == id && !strings.ContainsAny(id, `"#@`)
}
