package emu

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/console"
)

// place is a node, or one of its ports, that a command names.
type place struct {
	node  fabric.NodeID
	ports []uint16 // with a cable, that may be meant
}

// node finds a node by a name that must be of one node only.
func (s *Subnet) node(name string) (fabric.NodeID, error) {
	if name == "" {
		return 0, errors.New("the name of a node is empty")
	}
	ids := s.fabric.ByName(name)
	if _, ok := s.fabric.ByID(name); ok || len(ids) < 2 {
		return s.nodeNamed(name)
	}
	var names []string
	for _, id := range ids[:min(len(ids), 8)] {
		names = append(names, console.Quote(s.fabric.Node(id).ID))
	}
	return 0, fmt.Errorf("%d nodes are called %q: name one by its ID, such as %s", len(ids), name, strings.Join(names, ", "))
}

// place reads NODE, NODE[PORT] or NODE PORT from words, and gives those that
// are left.
func (s *Subnet) place(words []string) (p place, rest []string, err error) {
	if len(words) == 0 {
		return place{}, nil, errUsage
	}
	name, port := words[0], ""
	rest = words[1:]
	if id, err := s.node(name); err == nil {
		p.node = id
		if len(rest) > 0 && isNumber(rest[0]) {
			port, rest = rest[0], rest[1:]
		}
	} else {
		inner, number, ok := cutPort(name)
		if !ok {
			return place{}, nil, err
		}
		if p.node, err = s.node(inner); err != nil {
			return place{}, nil, err
		}
		name, port = inner, number
	}
	p.ports, err = s.cabled(p.node, name, port)
	return p, rest, err
}

// cutPort takes the port off NODE[PORT].
func cutPort(word string) (name, port string, ok bool) {
	i := strings.LastIndexByte(word, '[')
	if i < 0 || !strings.HasSuffix(word, "]") {
		return "", "", false
	}
	return word[:i], word[i+1 : len(word)-1], true
}

// isNumber tells whether a word is meant as the number of a port. A longer one
// may be a GUID.
func isNumber(word string) bool {
	_, err := strconv.ParseUint(word, 10, 64)
	return err == nil && len(word) <= 3
}

// portNumber reads the number of a port with a link.
func portNumber(word string) (uint8, error) {
	n, err := strconv.ParseUint(word, 10, 8)
	if err != nil || n == 0 || n > fabric.MaxPorts {
		return 0, fmt.Errorf("port %q: want a number from 1 to %d", word, fabric.MaxPorts)
	}
	return uint8(n), nil
}

// cabled lists the ports of a node that have a cable, whole or cut: the one
// with a number, or that a GUID names, or all.
func (s *Subnet) cabled(id fabric.NodeID, name, port string) ([]uint16, error) {
	if port != "" {
		number, err := portNumber(port)
		if err != nil {
			return nil, err
		}
		return s.cabledPort(id, uint16(number))
	}
	if guid, err := ib.ParseGUID(name); err == nil {
		if e, ok := s.fabric.ByPortGUID(guid); ok && e.Node == id && e.Port > 0 {
			return s.cabledPort(id, e.Port)
		}
	}
	ports := s.cables(id)
	if len(ports) == 0 {
		return nil, fmt.Errorf("%s has no links", s.nodeName(id))
	}
	return ports, nil
}

func (s *Subnet) cabledPort(id fabric.NodeID, port uint16) ([]uint16, error) {
	ports := s.cables(id)
	if !slices.Contains(ports, port) {
		return nil, fmt.Errorf("%s has no link at port %d; it has %s", s.nodeName(id), port, atPorts(ports))
	}
	return []uint16{port}, nil
}

func (s *Subnet) cables(id fabric.NodeID) (ports []uint16) {
	for p, x := range s.nodes[id].ports {
		if p > 0 && x.link != fabric.NoLink {
			ports = append(ports, uint16(p))
		}
	}
	return ports
}

func atPorts(ports []uint16) string {
	if len(ports) == 0 {
		return "none"
	}
	var b strings.Builder
	b.WriteString("links at ports")
	for _, p := range ports {
		fmt.Fprintf(&b, " %d", p)
	}
	return b.String()
}

// link reads LINK, one end of it or both, from words, and gives those that are
// left.
func (s *Subnet) link(words []string) (id fabric.LinkID, rest []string, err error) {
	a, rest, err := s.place(words)
	if err != nil {
		return 0, nil, err
	}
	links := s.links(a, nil)
	if len(rest) > 0 && s.isPlace(rest[0]) {
		b, after, err := s.place(rest)
		if err != nil {
			return 0, nil, err
		}
		links, rest = s.links(a, &b), after
		if len(links) == 0 {
			return 0, nil, fmt.Errorf("no link from %[1]s to %[2]s as named; %[1]s has %[3]s", s.nodeName(a.node), s.nodeName(b.node), s.neighbours(a))
		}
	}
	if len(links) > 1 {
		return 0, nil, fmt.Errorf("%d links can be meant; name a port of %s: %s", len(links), s.nodeName(a.node), s.neighbours(a))
	}
	return links[0], rest, nil
}

// isPlace tells whether a word names a node or a port.
func (s *Subnet) isPlace(word string) bool {
	_, _, bracket := cutPort(word)
	_, err := s.nodeNamed(word)
	return err == nil || bracket
}

// links lists those at a place that lead to another place, or anywhere.
func (s *Subnet) links(a place, to *place) (links []fabric.LinkID) {
	for _, port := range a.ports {
		e := fabric.End{Node: a.node, Port: port}
		id := s.portOf(e).link
		far := s.fabric.Link(id).Other(e)
		leads := to == nil || far.Node == to.node && slices.Contains(to.ports, far.Port)
		if leads && !slices.Contains(links, id) {
			links = append(links, id)
		}
	}
	return links
}

// neighbours tells where the first links at a place lead.
func (s *Subnet) neighbours(a place) string {
	const most = 8
	var list []string
	for _, port := range a.ports[:min(len(a.ports), most)] {
		e := fabric.End{Node: a.node, Port: port}
		list = append(list, fmt.Sprintf("[%d] to %s", port, s.endName(s.fabric.Link(s.portOf(e).link).Other(e))))
	}
	if more := len(a.ports) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(list, ", ")
}

// onlyLink reads a LINK after which nothing comes.
func (s *Subnet) onlyLink(args []string) (fabric.LinkID, error) {
	id, rest, err := s.link(args)
	if err == nil && len(rest) > 0 {
		err = fmt.Errorf("%q is neither a port nor the other end: %w", rest[0], errUsage)
	}
	return id, err
}

func cutLink(s *Subnet, args []string) (string, error) {
	id, err := s.onlyLink(args)
	if err != nil {
		return "", err
	}
	s.CutLink(id)
	return s.linkLine(id), nil
}

func restoreLink(s *Subnet, args []string) (string, error) {
	id, err := s.onlyLink(args)
	if err != nil {
		return "", err
	}
	s.RestoreLink(id)
	return s.linkLine(id), nil
}

// The bounds of what repeats, so that no line keeps the emulator from its work.
const (
	shortest = time.Millisecond
	longest  = 24 * time.Hour
	mostFlap = 1_000_000
)

func flapLink(s *Subnet, args []string) (string, error) {
	times, down, up := 1, time.Second, time.Second
	if n := len(args) - 3; n > 0 && isTime(args[n+2]) {
		var err error
		if times, down, up, err = flapTimes(args[n:]); err != nil {
			return "", err
		}
		args = args[:n]
	}
	id, err := s.onlyLink(args)
	if err != nil {
		return "", err
	}
	s.FlapLink(id, times, down, up)
	return s.linkLine(id), nil
}

func flapTimes(args []string) (times int, down, up time.Duration, err error) {
	times, err = strconv.Atoi(args[0])
	if err != nil || times < 1 || times > mostFlap {
		return 0, 0, 0, fmt.Errorf("%q times: want a number from 1 to %d", args[0], mostFlap)
	}
	if down, err = parseInterval(args[1]); err == nil {
		up, err = parseInterval(args[2])
	}
	return times, down, up, err
}
