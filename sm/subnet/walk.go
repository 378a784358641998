package subnet

import (
	"fmt"

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
	node *Node
	// from and port lead there, of a NodeInfo; nil for the own node. Of a
	// P_KeyTable, port is whose it is.
	from *Node
	port uint8
	// data is that of a Set; nil for a Get.
	data []byte
}

// walk is a discovery that is under way.
type walk struct {
	todo    []question
	next    int // of todo
	nodes   map[ib.GUID]*Node
	ownPort uint8
	pkeys   bool // P_Key tables are asked for
	// clear has PortStateChange cleared, before the ports are read, so that
	// what changes after that is seen by the next sweep.
	clear  bool
	faults []fabric.Fault
}

func newWalk() *walk {
	w := &walk{nodes: map[ib.GUID]*Node{}}
	w.ask(question{attr: mad.AttrNodeInfo})
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
	case mad.AttrPKeyTable:
		return parsed(w, q, d, mad.ParsePKeyTable, (*walk).pkeyTable)
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
	switch q.attr {
	case mad.AttrMlnxExtPortInfo:
		return // most devices do not have it
	case mad.AttrSwitchInfo:
		w.askPorts(q.node)
	default:
	}
	at := "path " + pathText(q.path)
	switch {
	case q.node != nil:
		at = q.node.at()
	case q.from != nil:
		at = fmt.Sprintf("%s, behind %s port %d", at, q.from.Label(), q.port)
	}
	what := q.attr.Name(mad.ClassDirected)
	if q.attr == mad.AttrPortInfo {
		what += fmt.Sprintf(" of port %d", q.modifier)
	} else if q.attr == mad.AttrPKeyTable {
		what += fmt.Sprintf(" of port %d, block %d", q.port, q.modifier)
	}
	w.report(fabric.FaultUnreachable, fabric.Error, "%s: no %s: %v", at, what, reason)
}

func (w *walk) report(kind fabric.FaultKind, severity fabric.Severity, format string, args ...any) {
	w.faults = append(w.faults, fabric.Fault{Kind: kind, Severity: severity, Text: fmt.Sprintf(format, args...)})
}
