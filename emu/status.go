package emu

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"heddle/fabric"
	"heddle/ib"
	"heddle/internal/console"
	"heddle/mad"
)

// Status is what a subnet is like at one time.
type Status struct {
	Time time.Duration
	// Switches, Adapters and Routers count the nodes, Dead those among them
	// that have no power.
	Switches, Adapters, Routers, Dead int
	// LinksUp and LinksDown are all links of the fabric.
	LinksUp, LinksDown int
	// Ports counts the ports with a cable, whole or cut, by their state.
	Ports map[mad.PortState]int
	// SMLIDs counts the ports that have a LID of their own, and port 0 of
	// switches, by their MasterSMLID; 0 is that of ports that nobody manages.
	SMLIDs map[ib.LID]int
	// Clients are in the order of their IDs.
	Clients []ClientStatus
	// Traps are those that are repeated until somebody represses them.
	Traps int
	Stats Stats
	Data  Data
	// Faults tells of each fault in force in a line, those of all links first,
	// then those of links, nodes and ports.
	Faults []string
}

// ClientStatus is what is known of a client.
type ClientStatus struct {
	ID   uint16
	End  fabric.End
	Name string
	IsSM bool
}

// Status tells what the subnet is like now.
func (s *Subnet) Status() Status {
	st := Status{
		Time: s.now, Traps: len(s.traps.open), Stats: s.stats, Data: s.data.stats, Clients: s.clientStatus(),
		Switches: len(s.fabric.Switches()), Adapters: len(s.fabric.Adapters()), Routers: len(s.fabric.Routers()),
		Ports: map[mad.PortState]int{}, SMLIDs: map[ib.LID]int{}, Faults: s.faults(),
	}
	for id := range s.nodes {
		s.countNode(fabric.NodeID(id), &st)
	}
	for id := range s.fabric.NumLinks() {
		if s.linkIsUp(fabric.LinkID(id)) {
			st.LinksUp++
		} else {
			st.LinksDown++
		}
	}
	return st
}

func (s *Subnet) countNode(id fabric.NodeID, st *Status) {
	n := &s.nodes[id]
	if !n.up {
		st.Dead++
	}
	for p := range n.ports {
		e, x := fabric.End{Node: id, Port: uint16(p)}, &n.ports[p]
		if !s.has(e) {
			continue
		}
		if x.link != fabric.NoLink {
			st.Ports[x.info.PortState]++
		}
		if n.up && s.addressed(e) {
			st.SMLIDs[x.info.MasterSMLID]++
		}
	}
}

func (s *Subnet) clientStatus() (list []ClientStatus) {
	for _, c := range s.byID {
		if c != nil {
			list = append(list, ClientStatus{ID: c.id, End: c.end, Name: c.opts.Name, IsSM: c.isSM})
		}
	}
	return list
}

// linkIsUp tells whether both ends of a link are trained.
func (s *Subnet) linkIsUp(id fabric.LinkID) bool {
	l := s.fabric.Link(id)
	return s.portOf(l.A).linkUp() && s.portOf(l.B).linkUp()
}

// faults lists the faults in force.
func (s *Subnet) faults() (list []string) {
	if s.trouble != nil {
		list = append(list, "all links: "+s.trouble.String())
	}
	for id := range s.fabric.NumLinks() {
		for _, what := range s.linkFaults(fabric.LinkID(id)) {
			list = append(list, s.linkName(fabric.LinkID(id))+": "+what)
		}
	}
	for id := range s.nodes {
		for _, what := range s.nodeFaults(fabric.NodeID(id)) {
			list = append(list, s.nodeName(fabric.NodeID(id))+": "+what)
		}
	}
	return list
}

func (s *Subnet) linkFaults(id fabric.LinkID) (list []string) {
	x := s.portOf(s.fabric.Link(id).A)
	f := s.flaps[id]
	switch {
	case f != nil:
		list = append(list, fmt.Sprintf("flaps, down %v and up %v, %s more", f.down, f.up, count(f.left, "time")))
	case !s.plugged(x):
		list = append(list, "cut")
	}
	if x.trouble != nil {
		list = append(list, x.trouble.String())
	}
	return list
}

func (s *Subnet) nodeFaults(id fabric.NodeID) (list []string) {
	n := &s.nodes[id]
	if !n.up {
		list = append(list, "dead")
	}
	if a := n.agent; a != nil && (a.service != s.cfg.Agent || a.limit != s.cfg.Queue) {
		what := fmt.Sprintf("its agent takes %v", a.service)
		if a.limit > 0 {
			what += fmt.Sprintf(", a queue of %d", a.limit)
		}
		list = append(list, what)
	}
	for p := range n.ports {
		if b := s.babblers[fabric.End{Node: id, Port: uint16(p)}]; b != nil {
			list = append(list, fmt.Sprintf("port %d babbles each %v", p, b.interval))
		}
	}
	return list
}

// nodeName is a node as people call it and the console reads it: by its
// description, or by its ID where that cannot be told or is another's too.
func (s *Subnet) nodeName(id fabric.NodeID) string {
	n := s.fabric.Node(id)
	_, isID := s.fabric.ByID(n.Name)
	hidden := func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }
	if n.Name == "" || isID || len(s.fabric.ByName(n.Name)) > 1 || strings.ContainsFunc(n.Name, hidden) {
		return console.Quote(n.ID)
	}
	return console.Quote(n.Name)
}

// endName is a port, as the console reads it.
func (s *Subnet) endName(e fabric.End) string {
	return fmt.Sprintf("%s[%d]", s.nodeName(e.Node), e.Port)
}

func (s *Subnet) linkName(id fabric.LinkID) string {
	l := s.fabric.Link(id)
	return s.endName(l.A) + " " + s.endName(l.B)
}
