package emu

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
)

// inboxLimit is how many datagrams wait at a device that nobody reads, beyond
// which they are lost, as at a real one.
const inboxLimit = 8192

// device is a umad.Device on a port of the subnet, in this process.
type device struct {
	live   *Live
	client *Client
	end    fabric.End
	name   string

	mu     sync.Mutex
	filled sync.Cond
	inbox  []Packet // guarded by mu, as what follows; from first on
	first  int
	closed bool
}

// Open attaches a device to a port: see Subnet.End for the names of nodes.
func (l *Live) Open(node string, port uint8) (umad.Device, error) {
	d := &device{live: l}
	d.filled.L = &d.mu
	err := l.Do(func(s *Subnet) (err error) {
		if d.end, err = s.End(node, port); err != nil {
			return err
		}
		d.name = s.Fabric().EndLabel(d.end)
		d.client, err = s.Attach(d.end, ClientOptions{Name: "in process", Receive: d.receive, Closed: d.shut})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("port of the emulated subnet: %w", err)
	}
	return d, nil
}

// receive is the subnet's: it stores a packet.
func (d *device) receive(p *Packet) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed || len(d.inbox)-d.first >= inboxLimit {
		return
	}
	if d.first == len(d.inbox) {
		d.inbox, d.first = d.inbox[:0], 0
	}
	d.inbox = append(d.inbox, *p)
	d.filled.Signal()
}

func (d *device) Receive(m *umad.Message) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	for d.first == len(d.inbox) && !d.closed {
		d.filled.Wait()
	}
	if d.closed {
		return net.ErrClosed
	}
	p := &d.inbox[d.first]
	d.first++
	m.Address = umad.Address{LID: p.SLID, QPN: p.SQP, QKey: p.QKey, SL: p.SL, GRH: p.GRH}
	m.Data = append(m.Data[:0], p.MAD[:]...)
	m.Err = nil
	return nil
}

func (d *device) Send(m *umad.Message, _ time.Duration) error {
	if len(m.Data) != mad.Size {
		return fmt.Errorf("%s: datagram of %d bytes, want %d", d.name, len(m.Data), mad.Size)
	}
	return d.live.Do(func(s *Subnet) error {
		if d.client.Detached() {
			return net.ErrClosed
		}
		p := Packet{MAD: mad.Datagram(m.Data), DLID: m.LID, DQP: m.QPN, QKey: m.QKey, SL: m.SL}
		if err := d.address(s, &p, m); err != nil {
			return err
		}
		d.client.Send(&p)
		return nil
	})
}

// address writes the sender's side of a packet.
func (d *device) address(s *Subnet, p *Packet, m *umad.Message) error {
	info := &s.portOf(d.end).info
	p.SLID = info.LID | ib.LID(m.PathBits)&(1<<info.LMC-1)
	if p.MAD.Class() == mad.ClassDirected && m.LID == ib.PermissiveLID {
		p.SLID = ib.PermissiveLID
	}
	if m.GRH != nil {
		grh := *m.GRH
		grh.GID = s.gid(d.end) // the receiver sees where it came from
		p.GRH = &grh
	}
	if p.MAD.Class().IsSMP() {
		return nil
	}
	keys := s.pkeys(d.end)
	if int(m.PKeyIndex) >= len(keys) || !keys[m.PKeyIndex].IsValid() {
		return fmt.Errorf("%s: no P_Key at index %d", d.name, m.PKeyIndex)
	}
	p.SQP, p.PKey = ib.GSIQPN, keys[m.PKeyIndex]
	return nil
}

func (d *device) Register(a umad.Agent) error {
	return d.live.Do(func(*Subnet) error {
		if err := d.client.Register(a); err != nil {
			return fmt.Errorf("%s: %w", d.name, err)
		}
		return nil
	})
}

func (d *device) SetIsSM(on bool) error {
	return d.live.Do(func(*Subnet) error {
		return d.client.SetIsSM(on)
	})
}

func (d *device) Info() (info umad.Info, err error) {
	err = d.live.Do(func(s *Subnet) error {
		x := s.portOf(d.end)
		info = umad.Info{
			Name: d.name, Device: s.Fabric().Node(d.end.Node).ID, Port: uint8(d.end.Port),
			NodeGUID: s.nodes[d.end.Node].guid, PortGUID: x.guid, Prefix: x.info.GidPrefix,
			LID: x.info.LID, LMC: x.info.LMC, SMLID: x.info.MasterSMLID, SMSL: x.info.MasterSMSL,
			State: x.info.PortState, PKeys: append([]ib.PKey(nil), s.pkeys(d.end)...),
			Capabilities: uint32(x.info.CapabilityMask),
		}
		return nil
	})
	return info, err
}

func (d *device) Features() umad.Features { return umad.Features{} }

func (d *device) Close() error {
	d.shut()
	err := d.live.Do(func(*Subnet) error {
		d.client.Detach()
		return nil
	})
	if errors.Is(err, net.ErrClosed) { // and the device with it
		return nil
	}
	return err
}

// shut ends what waits in Receive.
func (d *device) shut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.filled.Broadcast()
}
