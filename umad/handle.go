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
	if p.uses(m) {
		return nil
	}
	p.registering.Lock()
	defer p.registering.Unlock()
	if p.uses(m) {
		return nil
	}
	return p.register(agentOf(m), nil)
}

func (p *Port) uses(m *Message) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[keyOf(m.Data)]
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
	c := p.classes[a.key()]
	if err == nil {
		c.registered = true
		return nil
	}
	for _, m := range a.Methods {
		delete(c.handlers, m)
	}
	if !c.registered {
		delete(p.classes, a.key())
	}
	return fmt.Errorf("register class %s: %w", a.Class, err)
}

func (p *Port) setHandler(a Agent, h Handler) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.classes[a.key()]
	if c == nil {
		c = &class{handlers: make(map[mad.Method]Handler)}
		p.classes[a.key()] = c
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
	k := keyOf(m.Data)
	_, rmpp := mad.RMPPOffset(k.class)
	return Agent{Class: k.class, Version: m.Data[2], OUI: k.oui, RMPP: rmpp}
}

// key is what tells the agent from others.
func (a Agent) key() agentKey { return agentKey{a.Class, a.OUI} }

// requested gives a request to its handler, or refuses it.
func (p *Port) requested(m *Message) {
	p.mu.Lock()
	h, status := p.handlerOf(m)
	repeated := p.isAnswering(m)
	p.mu.Unlock()
	switch {
	case h == nil:
		p.refuse(m, status)
	case repeated:
		p.counters.duplicates.Add(1)
	default:
		p.counters.handled.Add(1)
		p.calling.Lock()
		defer p.calling.Unlock()
		h(m)
	}
}

// handlerOf is the handler of a request, or nil and why there is none. The lock
// is held.
func (p *Port) handlerOf(m *Message) (Handler, mad.Status) {
	c := p.classes[keyOf(m.Data)]
	if c == nil || c.version != m.Data[2] {
		return nil, mad.StatusBadVersion
	}
	return c.handlers[mad.Method(m.Data[3])], mad.StatusBadMethod
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
	if usesRMPP(m.Data) {
		m.single()
	}
	if err := p.dev.Send(m, 0); err != nil {
		p.counters.sendErrors.Add(1)
	}
}
