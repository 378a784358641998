package format

import (
	"fmt"
	"io"

	"heddle/fabric"
)

// Limits of what is read, about twice the largest fabrics that are routed.
// They bound the memory that a file can make a reader use.
const (
	maxNodes  = 1 << 19
	maxPorts  = 1 << 22 // of all nodes together
	maxCables = 3 << 20 // statements, mostly two for a link
)

// maxName bounds a description, of which InfiniBand has 64 bytes, so that it
// fits into a line of all formats.
const maxName = 1 << 10

// gatherer is a Builder that knows its place in a file, and has bounds.
type gatherer struct {
	fabric.Builder
	lines
	file  string
	count map[fabric.FaultKind]int

	nodes, ports, cables int
	// full is true when a limit is reached: the rest of the file is not read.
	full bool
}

func newGatherer(r io.Reader, name string) gatherer {
	return gatherer{lines: newLines(r), file: name, count: map[fabric.FaultKind]int{}}
}

// each gives the lines of the file to f.
func (g *gatherer) each(f func(text []byte)) error {
	for !g.full && g.next() {
		if g.long {
			g.warn(fabric.FaultLimit, "a line of more than %d bytes: skipped", maxLine)
			continue
		}
		f(g.text)
	}
	return g.err
}

// at is the place of the current line.
func (g *gatherer) at() fabric.Place { return g.line(g.num) }

// line is the place of a line.
func (g *gatherer) line(num int) fabric.Place { return fabric.Place{File: g.file, Line: num} }

// warn reports a fault of the current line.
func (g *gatherer) warn(kind fabric.FaultKind, format string, args ...any) {
	g.warnAt(g.at(), kind, format, args...)
}

// warnAt reports a fault; a text that no list will show is not made.
func (g *gatherer) warnAt(at fabric.Place, kind fabric.FaultKind, format string, args ...any) {
	f := fabric.Fault{Kind: kind, Severity: fabric.Warning, At: at}
	if g.count[kind] < fabric.MaxFaults {
		f.Text = fmt.Sprintf(format, args...)
	}
	g.count[kind]++
	g.Report(f)
}

// node states a node at a place, unless that is too much.
func (g *gatherer) node(n fabric.Node, at fabric.Place) (fabric.NodeID, bool) {
	g.nodes++
	g.ports += int(n.NumPorts) + 1
	if g.over(g.nodes, maxNodes, "nodes") || g.over(g.ports, maxPorts, "ports") {
		return fabric.NoNode, false
	}
	if len(n.Name) > maxName {
		g.warnAt(at, fabric.FaultLimit, "a name of %d bytes is cut to %d: %s", len(n.Name), maxName, shown([]byte(n.Name)))
		n.Name = n.Name[:maxName]
	}
	return g.AddNode(n, at), true
}

// cable tells whether there is room for one more statement about a cable.
func (g *gatherer) cable() bool {
	g.cables++
	return !g.over(g.cables, maxCables, "port lines")
}

// over tells whether there are too many of something; the first time it
// reports it.
func (g *gatherer) over(n, most int, what string) bool {
	if n <= most {
		return g.full
	}
	if !g.full {
		g.full = true
		g.Report(fabric.Fault{
			Kind: fabric.FaultLimit, Severity: fabric.Error, At: g.at(),
			Text: fmt.Sprintf("more than %d %s: the rest of the file is not read", most, what),
		})
	}
	return true
}

// shown is text for a message, cut to a length that a line can hold.
func shown(text []byte) string {
	const most = 60
	if len(text) > most {
		return string(text[:most]) + "..."
	}
	return string(text)
}
