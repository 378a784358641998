package format

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"heddle/fabric"
	"heddle/ib"
)

// dot is a graph for Graphviz: switches as boxes, other nodes as ellipses, an
// edge for each cable with the numbers of its ports at its ends.
var dot = Format{
	Name:       "dot",
	About:      "a graph for Graphviz, written only",
	Extensions: []string{".dot", ".gv"},
	Write:      writeDot,
}

func writeDot(out io.Writer, f *fabric.Fabric) error {
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, "graph fabric {\n\tnode [fontsize=10]\n\tedge [fontsize=8]\n")
	for i := range f.NumNodes() {
		if id := fabric.NodeID(i); f.NodeUp(id) {
			n := f.Node(id)
			fmt.Fprintf(w, "\t%s [label=%s shape=%s]\n", dotQuote(n.ID), dotQuote(dotLabel(n)), dotShape(n.Kind))
		}
	}
	for i := range f.NumLinks() {
		if id := fabric.LinkID(i); f.LinkUp(id) {
			writeDotEdge(w, f, f.Link(id))
		}
	}
	fmt.Fprintln(w, "}")
	return w.Flush()
}

func writeDotEdge(w *bufio.Writer, f *fabric.Fabric, l fabric.Link) {
	fmt.Fprintf(w, "\t%s -- %s [taillabel=%d headlabel=%d",
		dotQuote(f.Node(l.A.Node).ID), dotQuote(f.Node(l.B.Node).ID), l.A.Port, l.B.Port)
	if l.Rate != (ib.LinkRate{}) {
		fmt.Fprintf(w, " label=%s", dotQuote(l.Rate.String()))
	}
	fmt.Fprintln(w, "]")
}

func dotLabel(n fabric.Node) string {
	if n.Name != "" {
		return n.Name
	}
	return n.ID
}

func dotShape(k fabric.Kind) string {
	switch k {
	case fabric.Switch:
		return "box"
	case fabric.Router:
		return "diamond"
	default:
		return "ellipse"
	}
}

// dotEscapes are of a quoted string, where a backslash begins an escape.
var dotEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

func dotQuote(text string) string {
	return `"` + dotEscapes.Replace(printable(strings.ToValidUTF8(text, "?"))) + `"`
}
