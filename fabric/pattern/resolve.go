package pattern

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"heddle/fabric"
	"heddle/ib"
)

var errUnknown = errors.New("the fabric has no such node")

// resolver finds ports by the words of a file.
type resolver struct {
	f *fabric.Fabric
	// loose finds names by their text without blanks at its ends; it is made
	// when a name was not found exactly.
	loose map[string][]fabric.NodeID
}

// end finds the port that a word names: NODE:PORT or a port's GUID as said,
// else port 0 of a switch and the first port of an adapter that has a cable to
// a switch.
func (r *resolver) end(w word) (fabric.End, error) {
	node, port, err := w.text, "", error(nil)
	if w.suffix != "" {
		var ok bool
		if port, ok = strings.CutPrefix(w.suffix, ":"); !ok || port == "" {
			return fabric.End{}, fmt.Errorf("%q stands after a closing quote: want a blank or :PORT", w.suffix)
		}
	}
	e, exact, err := r.find(node)
	if errors.Is(err, errUnknown) && !w.quoted {
		if i := strings.LastIndexByte(node, ':'); i > 0 && isNumber(node[i+1:]) {
			node, port = node[:i], node[i+1:]
			e, exact, err = r.find(node)
		}
	}
	switch {
	case err != nil:
		return fabric.End{}, err
	case port != "":
		return r.numbered(e.Node, port)
	case !exact:
		e = r.firstPort(e.Node)
	}
	return e, r.check(e)
}

func isNumber(s string) bool {
	_, err := strconv.ParseUint(s, 10, 16)
	return err == nil
}

// find looks for a node's id, its name, a port's GUID and a node's GUID; exact
// is true for a port.
func (r *resolver) find(text string) (e fabric.End, exact bool, err error) {
	if id, ok := r.f.ByID(text); ok {
		return fabric.End{Node: id}, false, nil
	}
	if ids := r.named(text); len(ids) == 1 {
		return fabric.End{Node: ids[0]}, false, nil
	} else if len(ids) > 1 {
		return fabric.End{}, false, r.ambiguous(text, ids)
	}
	if g, err := ib.ParseGUID(text); err == nil && g.IsValid() {
		if e, ok := r.f.ByPortGUID(g); ok {
			return e, true, nil
		}
		if id, ok := r.f.ByGUID(g); ok {
			return fabric.End{Node: id}, false, nil
		}
	}
	return fabric.End{}, false, fmt.Errorf("%q: %w", clip(text), errUnknown)
}

func (r *resolver) named(text string) []fabric.NodeID {
	if text == "" {
		return nil
	}
	if ids := r.f.ByName(text); len(ids) > 0 {
		return ids
	}
	if r.loose == nil {
		r.loose = map[string][]fabric.NodeID{}
		for i := range r.f.NumNodes() {
			name := r.f.Node(fabric.NodeID(i)).Name
			if trimmed := strings.TrimSpace(name); trimmed != name && trimmed != "" {
				r.loose[trimmed] = append(r.loose[trimmed], fabric.NodeID(i))
			}
		}
	}
	return r.loose[strings.TrimSpace(text)]
}

// ambiguous lists the nodes that share a name.
func (r *resolver) ambiguous(text string, ids []fabric.NodeID) error {
	const most = 8
	var keys []string
	for _, id := range ids[:min(len(ids), most)] {
		n := r.f.Node(id)
		key := n.ID
		if n.GUID.IsValid() {
			key = n.GUID.String()
		}
		keys = append(keys, key)
	}
	if len(ids) > most {
		keys = append(keys, fmt.Sprintf("and %d more", len(ids)-most))
	}
	return fmt.Errorf("%q is the name of %d nodes, say which: %s", clip(text), len(ids), strings.Join(keys, ", "))
}

func (r *resolver) numbered(id fabric.NodeID, port string) (fabric.End, error) {
	n, err := strconv.ParseUint(port, 10, 16)
	if have := r.f.Node(id).NumPorts; err != nil || n > uint64(have) {
		return fabric.End{}, fmt.Errorf("%s has ports 0 to %d, not %q", r.f.Node(id).Label(), have, clip(port))
	}
	e := fabric.End{Node: id, Port: uint16(n)}
	return e, r.check(e)
}

func (r *resolver) firstPort(id fabric.NodeID) fabric.End {
	if r.f.Node(id).Kind == fabric.Switch {
		return fabric.End{Node: id}
	}
	for e := range r.f.Ports(id) {
		if _, ok := r.f.Leaf(e); ok {
			return e
		}
	}
	return fabric.End{Node: id, Port: 1}
}

// check tells whether a port can be a group's member.
func (r *resolver) check(e fabric.End) error {
	isSwitch := r.f.Node(e.Node).Kind == fabric.Switch
	_, hung := r.f.Leaf(e)
	switch {
	case !r.f.NodeUp(e.Node):
		return fmt.Errorf("%s is down", r.f.Node(e.Node).Label())
	case isSwitch && e.Port != 0:
		return fmt.Errorf("%s: of a switch only port 0 can be a member", r.f.EndLabel(e))
	case !isSwitch && !hung:
		return fmt.Errorf("%s has no cable to a live switch", r.f.EndLabel(e))
	}
	return nil
}

// clip keeps messages about damaged lines readable.
func clip(s string) string {
	const most = 60
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
