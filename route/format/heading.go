package format

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
	"heddle/route"
)

// naming is how the switches of a graph are called in headings: as a tool does,
// by description, but by ID where the description is empty or, as programs see
// it that trim names, another node's name or ID too.
type naming struct {
	g     *route.Graph
	alike map[string]int // nodes that a trimmed name may mean
}

func newNaming(g *route.Graph) naming {
	n := naming{g, map[string]int{}}
	f := g.Fabric()
	for id := range fabric.NodeID(f.NumNodes()) {
		node := f.Node(id)
		name := strings.TrimSpace(node.Name)
		n.alike[name]++
		if node.ID != name {
			n.alike[node.ID]++
		}
	}
	return n
}

func (n naming) of(v int32) string {
	node := n.g.Fabric().Node(n.g.Node(v))
	name := strings.TrimSpace(node.Name)
	if name == "" || n.alike[name] > 1 || strings.ContainsAny(name, "\r\n") {
		return node.ID
	}
	return node.Name
}

// appendHeading appends what follows "of switch" in the heading of a table.
func (n naming) appendHeading(b []byte, v int32, lid ib.LID) []byte {
	node := n.g.Fabric().Node(n.g.Node(v))
	if lid != 0 {
		b = fmt.Appendf(b, "Lid %d", lid)
	} else {
		b = append(b, "DR path slid 0; dlid 0; 0"...)
	}
	return fmt.Appendf(b, " guid 0x%016x (%s):\n", uint64(node.GUID), n.of(v))
}

// finder finds the switches of headings, each once.
type finder struct {
	g    *route.Graph
	seen []bool
}

func newFinder(g *route.Graph) *finder {
	return &finder{g, make([]bool, g.NumVertices())}
}

// heading finds the switch of a heading such as
//
//	Multicast mlids [0xc000-0xc3ff] of switch Lid 1 guid 0x0000000000200000 (leaf one):
//
// where OpenSM's own files have the description in quotes.
func (f *finder) heading(line string) (v int32, err error) {
	_, rest, ok := strings.Cut(line, " guid ")
	if !ok {
		return -1, fmt.Errorf("no GUID in the heading")
	}
	word, rest, _ := strings.Cut(rest, " ")
	guid, err := ib.ParseGUID(word)
	if err != nil {
		return -1, err
	}
	name := strings.TrimSuffix(strings.TrimSpace(rest), ":")
	name = strings.TrimSuffix(strings.TrimPrefix(name, "("), ")")
	if len(name) > 1 && name[0] == '\'' && name[len(name)-1] == '\'' {
		name = name[1 : len(name)-1]
	}
	return f.find(guid, name)
}

func (f *finder) find(guid ib.GUID, name string) (int32, error) {
	id, ok := f.g.Fabric().ByGUID(guid)
	if !ok {
		id, ok = f.named(name)
	}
	if !ok || f.g.Vertex(id) < 0 {
		return -1, fmt.Errorf("switch %v %q is not in the fabric", guid, name)
	}
	v := f.g.Vertex(id)
	if f.seen[v] {
		return -1, fmt.Errorf("switch %s is listed again", f.g.Label(v))
	}
	f.seen[v] = true
	return v, nil
}

// named finds a switch by its ID or by a description that is nobody else's.
func (f *finder) named(name string) (fabric.NodeID, bool) {
	if id, ok := f.g.Fabric().ByID(name); ok {
		return id, true
	}
	if ids := f.g.Fabric().ByName(name); len(ids) == 1 {
		return ids[0], true
	}
	return fabric.NoNode, false
}

// isRow tells whether a line is a row of a table: 0x and hexadecimal digits, and
// no more of the word.
func isRow(line string) bool { return strings.HasPrefix(line, "0x") }

// cutRow splits a row into its address and the rest.
func cutRow(line string) (address uint16, rest string, err error) {
	end := strings.IndexByte(line, ' ')
	if end < 0 {
		end = len(line)
	}
	n, err := strconv.ParseUint(line[2:end], 16, 16)
	if err != nil {
		return 0, "", fmt.Errorf("%q is no address", line[:min(end, 20)])
	}
	return uint16(n), line[end:], nil
}
