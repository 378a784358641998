package format_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/ib"
)

// view is a fabric as plain data, for comparison.
type view struct {
	Nodes []fabric.Node
	Ports map[string]fabric.PortInfo // by node ID and port, without the empty
	Links []wire
}

// wire is a link; A is the lesser end.
type wire struct {
	A, B string
	Rate ib.LinkRate
}

func newWire(a, b string, r ib.LinkRate) wire { return wire{min(a, b), max(a, b), r} }

func sortWires(w []wire) {
	slices.SortFunc(w, func(x, y wire) int { return cmp.Or(cmp.Compare(x.A, y.A), cmp.Compare(x.B, y.B)) })
}

func viewOf(f *fabric.Fabric) view {
	v := view{Ports: map[string]fabric.PortInfo{}}
	for i := range f.NumNodes() {
		id := fabric.NodeID(i)
		n := f.Node(id)
		if !f.NodeUp(id) {
			continue
		}
		v.Nodes = append(v.Nodes, n)
		for p := range int(n.NumPorts) + 1 {
			e := fabric.End{Node: id, Port: uint16(p)}
			if info := f.Port(e).PortInfo; info != (fabric.PortInfo{}) {
				v.Ports[endName(f, e)] = info
			}
		}
	}
	for i := range f.NumLinks() {
		if id := fabric.LinkID(i); f.LinkUp(id) {
			l := f.Link(id)
			v.Links = append(v.Links, newWire(endName(f, l.A), endName(f, l.B), l.Rate))
		}
	}
	sortWires(v.Links)
	return v
}

func endName(f *fabric.Fabric, e fabric.End) string {
	return fmt.Sprintf("%s:%d", f.Node(e.Node).ID, e.Port)
}

// kept is what remains of a fabric that is written in a format and read again.
func kept(f *fabric.Fabric, formatName string) view {
	v := viewOf(f)
	switch formatName {
	case "ibnetdiscover":
		v.keepNet(f)
	case "ibsim":
		v.keepNet(f)
		v.derivePorts()
	case "subnet.lst":
		v.keepLst(f)
	}
	return v
}

// keepNet forgets what a netlist does not hold.
func (v *view) keepNet(f *fabric.Fabric) {
	for i := range v.Nodes {
		n := &v.Nodes[i]
		n.Name = printable(n.Name)
		forgetFlags(n)
		n.EnhancedPort0 = n.EnhancedPort0 && n.Kind == fabric.Switch
	}
	v.keepPorts(f, func(n fabric.Node, port uint16, linked bool) bool {
		return n.Kind == fabric.Switch && port == 0 || n.Kind != fabric.Switch && linked
	})
}

func (v *view) keepPorts(f *fabric.Fabric, keep func(n fabric.Node, port uint16, linked bool) bool) {
	for i := range f.NumNodes() {
		n := f.Node(fabric.NodeID(i))
		for p := range int(n.NumPorts) + 1 {
			e := fabric.End{Node: fabric.NodeID(i), Port: uint16(p)}
			if _, linked := f.Peer(e); !keep(n, uint16(p), linked) {
				delete(v.Ports, endName(f, e))
			}
		}
	}
}

func forgetFlags(n *fabric.Node) {
	n.MulticastCap = 0
	if n.Kind == fabric.Switch {
		n.MulticastCap = fabric.CapUnknown
	}
	n.Aggregation = n.Kind == fabric.Adapter && strings.Contains(n.Name, "Aggregation Node")
}

// derivePorts gives ports without a GUID that of ibsim.
func (v *view) derivePorts() {
	for _, n := range v.Nodes {
		for p := range int(n.NumPorts) + 1 {
			key := fmt.Sprintf("%s:%d", n.ID, p)
			info := v.Ports[key]
			if (n.Kind == fabric.Switch) == (p == 0) && info.GUID == 0 {
				info.GUID = n.GUID + ib.GUID(p)
				v.Ports[key] = info
			}
		}
	}
}

// keepLst forgets what subnet.lst does not hold: IDs become those of
// ibnetdiscover, and nodes are sorted by them.
func (v *view) keepLst(f *fabric.Fabric) {
	v.keepNet(f)
	names := map[string]string{}
	var linked []fabric.Node
	for _, n := range v.Nodes {
		old := n.ID
		n.ID = fabric.DefaultID(n.Kind, n.GUID)
		names[old] = n.ID
		n.EnhancedPort0 = false
		n.Name = strings.ReplaceAll(n.Name, "} LID:", ") LID:")
		if id, _ := f.ByID(old); isLinked(f, id) {
			linked = append(linked, n)
		} else {
			delete(v.Ports, old+":0")
		}
	}
	v.Nodes = linked
	v.rename(names)
	for key, info := range v.Ports {
		info.LMC = 0
		v.Ports[key] = info
		if info == (fabric.PortInfo{}) {
			delete(v.Ports, key)
		}
	}
	v.sortNodes()
}

func isLinked(f *fabric.Fabric, id fabric.NodeID) bool {
	for range f.Ports(id) {
		return true
	}
	return false
}

func (v *view) sortNodes() {
	slices.SortFunc(v.Nodes, func(x, y fabric.Node) int { return cmp.Compare(x.ID, y.ID) })
}

func (v *view) rename(names map[string]string) {
	end := func(text string) string {
		i := strings.LastIndexByte(text, ':')
		return names[text[:i]] + text[i:]
	}
	ports := map[string]fabric.PortInfo{}
	for key, info := range v.Ports {
		ports[end(key)] = info
	}
	v.Ports = ports
	for i, l := range v.Links {
		v.Links[i] = newWire(end(l.A), end(l.B), l.Rate)
	}
	sortWires(v.Links)
}

// printable is a name as a netlist shows it.
func printable(name string) string {
	b := []byte(name)
	for i, c := range b {
		if c < ' ' || c == 0x7f {
			b[i] = ' '
		}
	}
	return string(b)
}

// failer is what testing.TB and rapid.T have in common here.
type failer interface {
	Helper()
	Fatal(args ...any)
}

func write(tb failer, f *fabric.Fabric, formatName string) string {
	tb.Helper()
	var out bytes.Buffer
	if err := format.Write(&out, f, formatName); err != nil {
		tb.Fatal(err)
	}
	return out.String()
}

func read(tb failer, text, formatName string) (*fabric.Fabric, []fabric.Fault) {
	tb.Helper()
	f, faults, err := format.Read(strings.NewReader(text), "test", formatName)
	if err != nil {
		tb.Fatal(err)
	}
	return f, faults
}

// said shortens faults to line/other line and kind.
func said(faults []fabric.Fault) []string {
	var out []string
	for _, f := range faults {
		text := fmt.Sprintf("%d %s", f.At.Line, f.Kind)
		if f.Other.Line != 0 {
			text = fmt.Sprintf("%d/%d %s", f.At.Line, f.Other.Line, f.Kind)
		}
		if f.Severity == fabric.Error {
			text += " !"
		}
		out = append(out, text)
	}
	return out
}
