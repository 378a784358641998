package emu

import (
	"fmt"
	"net"

	"heddle/fabric"
	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
	"heddle/umad"
)

// respond is the answer to a control message.
func (s *Server) respond(c ibsim.Control, from net.Addr) ibsim.Control {
	var body ibsim.Body
	var err error
	if c.Type == ibsim.TypeConnect {
		return s.connect(c, from)
	}
	x := s.session(c.Client, from)
	if x == nil {
		s.cfg.Log.Debug("control message of a client that is not attached", "client", c.Client, "type", c.Type, "from", from)
		return c.Failed()
	}
	switch c.Type {
	case ibsim.TypeDisconnect:
		s.end(x, "it detached")
	case ibsim.TypeIsSM:
		err = s.setIsSM(x, c.Data[:])
	case ibsim.TypeRegister:
		body, err = s.register(x, c.Data[:])
	default:
		body, err = s.tell(x, c)
	}
	if err != nil {
		s.cfg.Log.Debug("control message refused", "client", c.Client, "type", c.Type, "error", err)
		return c.Failed()
	}
	return c.Answer(body)
}

// session is that of a client by its number, which only the client itself can
// name.
func (s *Server) session(number uint32, from net.Addr) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if uint32(x.client.ID()) == number && x.from == from.String() {
			return x
		}
	}
	return nil
}

func (s *Server) connect(c ibsim.Control, from net.Addr) ibsim.Control {
	want, err := ibsim.ParseConnect(c.Data[:])
	if err != nil {
		return c.Failed()
	}
	x, err := s.attach(want, from)
	if err != nil {
		s.cfg.Log.Warn("client refused", "id", want.ID, "node", want.Node, "error", err)
		return c.Failed()
	}
	s.cfg.Log.Info("client attached", "client", x.client.ID(), "id", x.id, "node", x.node)
	want.ID, want.Node = uint32(x.client.ID()), x.node
	c.Client = want.ID
	return c.Answer(want)
}

// attach makes the session of a client. One of the same owner is its own that
// it has forgotten, or a dead client's, whose process number came up again.
func (s *Server) attach(want ibsim.Connect, from net.Addr) (*session, error) {
	owner, err := s.sockets.owner(want.ID, from)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	old := s.sessions[owner]
	s.mu.Unlock()
	if old != nil {
		s.end(old, "it attaches again")
	}
	x := &session{server: s, id: want.ID, owner: owner, from: from.String()}
	if err := x.open(want, from); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		x.close()
		return nil, net.ErrClosed
	}
	s.sessions[x.owner] = x
	s.wait.Go(x.read)
	return x, nil
}

func (s *Server) setIsSM(x *session, data []byte) error {
	on, err := ibsim.ParseIsSM(data)
	if err != nil {
		return err
	}
	return s.live.Do(func(*Subnet) error { return x.client.SetIsSM(bool(on)) })
}

func (s *Server) register(x *session, data []byte) (ibsim.Body, error) {
	r, err := ibsim.ParseRegister(data)
	if err != nil {
		return nil, err
	}
	a := umad.Agent{Class: r.Class, Version: r.Version, OUI: r.OUI}
	for m := range mad.Method(128) {
		if r.Methods.Has(m) {
			a.Methods = append(a.Methods, m)
		}
	}
	r.Outcome = ibsim.OutcomeGranted
	if s.live.Do(func(*Subnet) error { return x.client.Register(a) }) != nil {
		r.Outcome = ibsim.OutcomeTaken
	}
	return r, nil
}

// tell answers what a client asks of its port.
func (s *Server) tell(x *session, c ibsim.Control) (body ibsim.Body, err error) {
	err = s.live.Do(func(sub *Subnet) error {
		body, err = sub.describe(x.client.End(), c)
		return err
	})
	return body, err
}

func (s *Subnet) describe(e fabric.End, c ibsim.Control) (ibsim.Body, error) {
	x := s.portOf(e)
	switch c.Type {
	case ibsim.TypePort:
		return ibsim.Port{LID: x.info.LID, State: x.info.PortState}, nil
	case ibsim.TypeVendor:
		told := s.fabric.Node(e.Node)
		return ibsim.Vendor{ID: told.VendorID, Part: told.DeviceID, Firmware: 1}, nil
	case ibsim.TypeGID:
		return ibsim.GID{GID: s.gid(e)}, nil
	case ibsim.TypeGUID:
		return ibsim.GUID(s.nodes[e.Node].guid), nil
	case ibsim.TypeNodeInfo:
		return s.nodeInfoOf(e), nil
	case ibsim.TypePortInfo:
		return s.describePort(e, c.Data[:])
	case ibsim.TypePKeys:
		return usedPKeys(s.pkeys(e)), nil
	default:
		return nil, fmt.Errorf("control message of type %v", c.Type)
	}
}

func (s *Subnet) describePort(e fabric.End, data []byte) (ibsim.Body, error) {
	number, err := ibsim.ParsePortNumber(data)
	if err != nil {
		return nil, err
	}
	if number != 0 {
		e.Port = uint16(number)
	}
	if !s.has(e) {
		return nil, fmt.Errorf("port %d: %w", number, ErrNoNode)
	}
	return s.portOf(e).info, nil
}

// usedPKeys is a table up to its last key.
func usedPKeys(keys []ib.PKey) ibsim.PKeys {
	n := len(keys)
	for n > 0 && keys[n-1] == 0 {
		n--
	}
	return ibsim.PKeys(keys[:n])
}
