package umad

import (
	"errors"
	"fmt"
	"sync"

	"heddle/ibsim"
	"heddle/mad"
)

// simAgents are the classes that were registered.
type simAgents struct {
	mu   sync.RWMutex
	list []ibsim.Register
}

// Register asks for a class, of the server too where it knows such wishes.
func (d *IBSim) Register(a Agent) error {
	r := ibsim.Register{
		Class: a.Class, Version: a.Version, OUI: a.OUI,
		Methods: ibsim.NewMethodSet(a.Methods...),
	}
	if err := d.agents.add(r); err != nil {
		return fmt.Errorf("%s: register %v: %w", d.Name(), a.Class, err)
	}
	if err := d.registerAtServer(r); err != nil {
		d.agents.remove(r)
		return fmt.Errorf("%s: register %v: %w", d.Name(), a.Class, err)
	}
	return nil
}

// registerAtServer tells the server. One that does not know the message gives
// it back as it was, or refuses it; it delivers what it delivers.
func (d *IBSim) registerAtServer(r ibsim.Register) error {
	answer, err := d.ask(ibsim.TypeRegister, r)
	if errors.Is(err, errSimRefused) {
		return nil
	}
	if err != nil {
		return err
	}
	got, err := ibsim.ParseRegister(answer.Data[:])
	if err != nil {
		return err
	}
	switch got.Outcome {
	case ibsim.OutcomeTaken:
		return ErrClassTaken
	case ibsim.OutcomeUnsupported:
		return ErrClassUnsupported
	default:
		return nil
	}
}

// add takes up an agent, unless another has one of its methods.
func (s *simAgents) add(r ibsim.Register) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, other := range s.list {
		same := other.Class == r.Class && other.Version == r.Version && other.OUI == r.OUI
		if same && other.Methods.Intersects(r.Methods) {
			return ErrClassTaken
		}
	}
	s.list = append(s.list, r)
	return nil
}

func (s *simAgents) remove(r ibsim.Register) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, other := range s.list {
		if other == r {
			s.list = append(s.list[:i:i], s.list[i+1:]...)
			return
		}
	}
}

// want tells whether a packet is for an agent: an answer or what came back for
// any of its class, a request for the one with its method. An answer of our
// own that nobody got is for none.
func (s *simAgents) want(p *ibsim.Packet) bool {
	d := p.MAD()
	if p.Status() != 0 && d.IsResponse() {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for i := range s.list {
		if s.list[i].Class == d.Class() && (p.Status() != 0 || serves(&s.list[i], d)) {
			return true
		}
	}
	return false
}

// offVendorOUI is where datagrams of vendor classes with an OUI have it.
const offVendorOUI = 37

func serves(r *ibsim.Register, d *mad.Datagram) bool {
	if r.Class.IsVendorOUI() && r.OUI != uint32(d[offVendorOUI])<<16|uint32(d[offVendorOUI+1])<<8|uint32(d[offVendorOUI+2]) {
		return false
	}
	method := d.Method()
	if method&0x80 != 0 {
		return true
	}
	return r.Version == d.ClassVersion() && r.Methods.Has(method)
}
