package discover

import (
	"fmt"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// question is one request.
type question struct {
	attr     mad.AttrID
	modifier uint32
	path     []uint8
	// node is whom it goes to; nil for the NodeInfo of whoever is there.
	node *node
	// from is the port that leads there, of a NodeInfo; none for the own node.
	from fabric.End
}

// node is a node that was found.
type node struct {
	id     fabric.NodeID
	guid   ib.GUID
	kind   mad.NodeType
	vendor uint32
	ports  uint8
	path   []uint8 // of the first way to it
	own    bool    // it is where the walk began
	asking int     // questions to it that are not answered
	held   []question
}

// walk is a discovery that is under way.
type walk struct {
	todo   []question
	next   int // of todo
	nodes  map[ib.GUID]*node
	peers  map[fabric.End]fabric.End
	cables []fabric.End // one end of each
	rates  map[fabric.End]ib.LinkRate
	build  fabric.Builder
}

var nowhere = fabric.End{Node: fabric.NoNode}

func newWalk() *walk {
	w := &walk{
		nodes: map[ib.GUID]*node{}, peers: map[fabric.End]fabric.End{}, rates: map[fabric.End]ib.LinkRate{},
	}
	w.ask(question{attr: mad.AttrNodeInfo, from: nowhere})
	return w
}

func (w *walk) ask(q question) { w.todo = append(w.todo, q) }

// take returns the next question, of which there is one where ok is true.
func (w *walk) take() (q question, ok bool) {
	if w.next == len(w.todo) {
		w.todo, w.next = w.todo[:0], 0
		return question{}, false
	}
	w.next++
	return w.todo[w.next-1], true
}

// answered takes the answer to a question. The error is of an answer that says
// no or cannot be read.
func (w *walk) answered(q question, d *mad.Datagram) error {
	if status := d.Status(); status != mad.StatusOK {
		return fmt.Errorf("status %v", status)
	}
	switch q.attr {
	case mad.AttrNodeInfo:
		return parsed(w, q, d, mad.ParseNodeInfo, (*walk).nodeInfo)
	case mad.AttrNodeDescription:
		return parsed(w, q, d, mad.ParseNodeDescription, (*walk).nodeDescription)
	case mad.AttrSwitchInfo:
		return parsed(w, q, d, mad.ParseSwitchInfo, (*walk).switchInfo)
	case mad.AttrPortInfo:
		return parsed(w, q, d, mad.ParsePortInfo, (*walk).portInfo)
	case mad.AttrMlnxExtPortInfo:
		return parsed(w, q, d, mad.ParseMlnxExtPortInfo, (*walk).mlnxExtPortInfo)
	default:
		return fmt.Errorf("%v was not asked", q.attr)
	}
}

func parsed[T any](w *walk, q question, d *mad.Datagram, parse func([]byte) (T, error), take func(*walk, question, T)) error {
	v, err := parse(d.Data())
	if err != nil {
		return err
	}
	take(w, q, v)
	return nil
}

// unanswered notes that nobody gave an answer that can be used.
func (w *walk) unanswered(q question, reason error) {
	if q.attr == mad.AttrMlnxExtPortInfo {
		return // most devices do not have it
	}
	at := "path " + pathText(q.path)
	switch {
	case q.node != nil:
		at = fmt.Sprintf("%s (%s)", w.build.Node(q.node.id).Label(), at)
	case q.from.Node >= 0:
		at = fmt.Sprintf("%s, behind %s port %d", at, w.build.Node(q.from.Node).Label(), q.from.Port)
	}
	what := q.attr.Name(mad.ClassDirected)
	if q.attr == mad.AttrPortInfo {
		what += fmt.Sprintf(" of port %d", q.modifier)
	}
	w.build.Report(fabric.Fault{
		Kind: fabric.FaultUnreachable, Severity: fabric.Error, Text: fmt.Sprintf("%s: no %s: %v", at, what, reason),
	})
}

// pathText is a directed route as infiniband-diags write and take it.
func pathText(path []uint8) string {
	words := []string{"0"}
	for _, port := range path {
		words = append(words, strconv.Itoa(int(port)))
	}
	return strings.Join(words, ",")
}

// finish lays the cables and builds the fabric.
func (w *walk) finish() (*fabric.Fabric, []fabric.Fault) {
	for _, from := range w.cables {
		to := w.peers[from]
		rate, ok := w.rates[from]
		if !ok {
			rate = w.rates[to]
		}
		w.build.Cable(from, to, rate, fabric.Place{})
	}
	return w.build.Build()
}
