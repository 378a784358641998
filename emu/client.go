package emu

import (
	"fmt"
	"slices"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// Client is a program at a port: it sends from there, and gets the answers and
// those requests that it registered for. Its methods belong to the goroutine
// of its Subnet.
type Client struct {
	subnet *Subnet
	id     uint16
	end    fabric.End
	opts   ClientOptions
	isSM   bool
	agents []umad.Agent
	used   [4]uint64 // a bit for each class that it sent in
}

// ClientOptions is how a Client attaches.
type ClientOptions struct {
	// Name tells people who the client is.
	Name string
	// QP, above 1, is the client's own queue pair: requests to it are its.
	QP ib.QPN
	// Implicit takes the client for one that registers with a library of its
	// own and cannot tell: an IsSM client gets the requests for subnet
	// managers, none else any.
	Implicit bool
	// Receive takes a packet, which it must not keep. It runs within the
	// Subnet's methods and must not call them.
	Receive func(p *Packet)
	// Closed, where it is set, is told that the subnet ends.
	Closed func()
}

// clients is who is attached.
type clients struct {
	byID   []*Client // index 0 stays empty: agents' own transactions
	atPort map[fabric.End][]*Client
}

func (c *clients) init() { c.byID, c.atPort = make([]*Client, 1), map[fabric.End][]*Client{} }

// maxClients is how many clients there can be: their IDs mark transactions in
// 16 bits.
const maxClients = 1<<16 - 1

// Attach puts a client at a port that the node has; see End.
func (s *Subnet) Attach(at fabric.End, o ClientOptions) (*Client, error) {
	if !s.has(at) {
		return nil, fmt.Errorf("port %d of node %d: %w", at.Port, at.Node, ErrNoNode)
	}
	id := slices.Index(s.byID[1:], nil) + 1
	if id == 0 {
		if len(s.byID) > maxClients {
			return nil, ErrFull
		}
		id = len(s.byID)
		s.byID = append(s.byID, nil)
	}
	c := &Client{subnet: s, id: uint16(id), end: at, opts: o}
	s.byID[id] = c
	s.atPort[at] = append(s.atPort[at], c)
	return c, nil
}

// Detach ends the client; its place is free, and what it asked for is gone.
func (c *Client) Detach() {
	s := c.subnet
	if c.Detached() {
		return
	}
	if c.isSM {
		c.isSM = false
		s.setCapability(c.end, mad.CapIsSM, false)
	}
	s.byID[c.id] = nil
	s.atPort[c.end] = slices.DeleteFunc(s.atPort[c.end], func(o *Client) bool { return o == c })
	if len(s.atPort[c.end]) == 0 {
		delete(s.atPort, c.end)
	}
}

// Detached tells whether Detach was called.
func (c *Client) Detached() bool { return c.subnet.byID[c.id] != c }

// ID is the client's number, which its transactions carry in the upper 16 bits
// of their IDs.
func (c *Client) ID() uint16 { return c.id }

// End is where the client is.
func (c *Client) End() fabric.End { return c.end }

// Register lets the client have the requests of an agent's class and methods.
func (c *Client) Register(a umad.Agent) error {
	for _, other := range c.subnet.atPort[c.end] {
		for _, b := range other.agents {
			if m, clash := clash(a, b); clash {
				return fmt.Errorf("class %v, method %v: %w", a.Class, m, umad.ErrClassTaken)
			}
		}
	}
	c.agents = append(c.agents, a)
	c.use(a.Class)
	return nil
}

func clash(a, b umad.Agent) (m mad.Method, ok bool) {
	if a.Class != b.Class || a.Version != b.Version || a.OUI != b.OUI {
		return 0, false
	}
	for _, m := range a.Methods {
		if slices.Contains(b.Methods, m) {
			return m, true
		}
	}
	return 0, false
}

func (c *Client) use(class mad.Class)       { c.used[class>>6] |= 1 << (class & 63) }
func (c *Client) uses(class mad.Class) bool { return c.used[class>>6]&(1<<(class&63)) != 0 }

// SetIsSM sets the bit in the port's capability mask that says that a subnet
// manager is here. A port has one: the error of a second wraps umad.ErrBusy.
func (c *Client) SetIsSM(on bool) error {
	if c.isSM == on {
		return nil
	}
	if on && c.subnet.hasSM(c.end) {
		return fmt.Errorf("%s has a subnet manager: %w", c.subnet.fabric.EndLabel(c.end), umad.ErrBusy)
	}
	c.isSM = on
	c.subnet.setCapability(c.end, mad.CapIsSM, on)
	return nil
}

// mark is a transaction ID with the client's number in it.
func (c *Client) mark(tid uint64) uint64 { return tid&(1<<48-1) | uint64(c.id)<<48 }

// Send sends a copy of p from the client's port. A packet whose DLID is
// ib.PermissiveLID goes by the directed route in it. A request's transaction
// ID gets the client's number in the upper 16 bits.
func (c *Client) Send(p *Packet) {
	s := c.subnet
	q := s.take()
	free := q.next
	*q = *p
	q.next = free
	q.at, q.origin, q.hops = c.end, true, 0
	if !q.MAD.IsResponse() {
		q.MAD.SetTID(c.mark(q.MAD.TID()))
	}
	if q.SLID == 0 {
		q.SLID = s.portOf(c.end).info.LID
	}
	c.use(q.MAD.Class())
	s.stats.Sent++
	s.run(q)
}

// claimant is the client at a port to which a packet belongs, or nil.
func (s *Subnet) claimant(at fabric.End, p *Packet) *Client {
	if p.MAD.IsResponse() {
		return s.asker(at, &p.MAD)
	}
	for _, c := range s.atPort[at] {
		if c.claims(p) {
			return c
		}
	}
	return nil
}

// asker is the client that an answer is for. One in a class that the client
// never used is not delivered.
func (s *Subnet) asker(at fabric.End, m *mad.Datagram) *Client {
	id := int(m.TID() >> 48)
	if id >= len(s.byID) {
		return nil
	}
	c := s.byID[id]
	if c == nil || c.end != at || !c.uses(m.Class()) {
		return nil
	}
	return c
}

// claims tells whether a request is for the client.
func (c *Client) claims(p *Packet) bool {
	m := &p.MAD
	if c.opts.QP > ib.GSIQPN && p.DQP == c.opts.QP {
		return c.uses(m.Class())
	}
	for _, a := range c.agents {
		if a.Class == m.Class() && a.Version == m.ClassVersion() && slices.Contains(a.Methods, m.Method()) {
			return true
		}
	}
	return c.opts.Implicit && c.isSM && p.DQP <= ib.GSIQPN && isManagers(m.Class())
}

// isManagers tells whether requests of a class are a subnet manager's to
// answer.
func isManagers(c mad.Class) bool { return c.IsSMP() || c == mad.ClassSA }

// hasSM tells whether a subnet manager is at a port.
func (s *Subnet) hasSM(e fabric.End) bool {
	return slices.ContainsFunc(s.atPort[e], func(c *Client) bool { return c.isSM })
}
