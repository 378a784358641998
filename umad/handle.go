package umad

import (
	"fmt"

	"heddle/mad"
)

// Handler takes a request. It may change the message, answer it by Reply and
// Port.Send, and must clone what it keeps: the message is valid until it
// returns.
type Handler func(m *Message)

// class is what a Port knows of a class.
type class struct {
	version    uint8
	rmpp       bool
	registered bool // with the device
	handlers   map[mad.Method]Handler
}

// Handle gives the requests of an agent's class and methods to h. A request of
// the class with a method that no handler has is answered with
// StatusBadMethod. It fails with ErrClassTaken where a method has a handler.
//
// Who only asks needs no Handle: Start registers the class of a request.
func (p *Port) Handle(a Agent, h Handler) error {
	p.registering.Lock()
	defer p.registering.Unlock()
	return p.register(a, h)
}

// use registers the class of a message that is to be sent, where nobody has.
func (p *Port) use(m *Message) error {
	class := mad.Class(m.Data[1])
	if p.uses(class) {
		return nil
	}
	p.registering.Lock()
	defer p.registering.Unlock()
	if p.uses(class) {
		return nil
	}
	return p.register(agentOf(m), nil)
}

func (p *Port) uses(class mad.Class) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[class]
	return c != nil && c.registered
}

// register tells the device, and before it the table of handlers, so that the
// first request finds its own.
func (p *Port) register(a Agent, h Handler) error {
	if err := p.setHandler(a, h); err != nil {
		return err
	}
	err := p.dev.Register(a)
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[a.Class]
	if err == nil {
		c.registered = true
		return nil
	}
	for _, m := range a.Methods {
		delete(c.handlers, m)
	}
	if !c.registered {
		delete(p.classes, a.Class)
	}
	return fmt.Errorf("register class %s: %w", a.Class, err)
}

func (p *Port) setHandler(a Agent, h Handler) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[a.Class]
	if c == nil {
		c = &class{handlers: make(map[mad.Method]Handler)}
		p.classes[a.Class] = c
	}
	for _, m := range a.Methods {
		if c.handlers[m] != nil {
			return fmt.Errorf("handle %s %s: %w", a.Class, m, ErrClassTaken)
		}
	}
	for _, m := range a.Methods {
		c.handlers[m] = h
	}
	if len(a.Methods) > 0 || !c.registered {
		c.version, c.rmpp = a.Version, a.RMPP
	}
	return nil
}

// agentOf is the agent that a message of its own class needs.
func agentOf(m *Message) Agent {
	class := mad.Class(m.Data[1])
	a := Agent{Class: class, Version: m.Data[2], RMPP: class == mad.ClassSA || class.IsVendorOUI()}
	if class.IsVendorOUI() && len(m.Data) >= offOUI+3 {
		a.OUI = uint32(m.Data[offOUI])<<16 | uint32(m.Data[offOUI+1])<<8 | uint32(m.Data[offOUI+2])
	}
	return a
}

// offOUI is where the OUI stands in datagrams of the vendor classes that have
// one (IBTA 1, 16.5.1).
const offOUI = 37

// requested gives a request to its handler, or refuses it.
func (p *Port) requested(m *Message) {
	method, version := mad.Method(m.Data[3]), m.Data[2]
	p.mu.Lock()
	c := p.classes[mad.Class(m.Data[1])]
	var h Handler
	status := mad.StatusBadVersion
	if c != nil && c.version == version {
		h, status = c.handlers[method], mad.StatusBadMethod
	}
	p.mu.Unlock()
	if h == nil {
		p.refuse(m, status)
		return
	}
	p.counters.handled.Add(1)
	p.calling.Lock()
	defer p.calling.Unlock()
	h(m)
}

// refuse answers a request that nobody handles. A Trap stays without an answer,
// so that it comes again for who will handle it.
func (p *Port) refuse(m *Message, status mad.Status) {
	p.counters.unsupported.Add(1)
	if method := mad.Method(m.Data[3]); method == mad.MethodTrap || method == mad.MethodSend {
		return
	}
	if err := m.Reply(status); err != nil {
		m.Data[3] |= 0x80 // a method without an answer of its own
		m.Datagram().SetStatus(status)
	}
	if err := p.dev.Send(m, 0); err != nil {
		p.counters.sendErrors.Add(1)
	}
}
