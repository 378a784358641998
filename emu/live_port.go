package emu

import (
	"errors"
	"fmt"
	"net"
	"sync"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
)

// Port is an end port of a running subnet, from which data packets are sent and
// at which they come in: what a device of package verbs/soft is put on. Its
// methods may be called by any goroutine.
type Port struct {
	live *Live
	end  fabric.End
	host *Host // belongs to who runs the subnet

	mu      sync.Mutex
	changed sync.Cond
	inbox   inbox // guarded by mu, as what follows
	closed  bool
	pump    bool // a goroutine gives packets to a function
	stop    bool
	lost    uint64
}

// inbox is packets that nobody took yet, in one array.
type inbox struct {
	bytes []byte
	ends  []int
}

// The most that an inbox holds, beyond which packets are lost, as where an
// adapter has no room.
const (
	inboxPackets = 8192
	inboxBytes   = 16 << 20
)

// Port takes the data port of a node: see Subnet.End for the names of nodes.
// The error of a port that is taken wraps ErrTaken.
func (l *Live) Port(node string, port uint8) (*Port, error) {
	p := &Port{live: l}
	p.changed.L = &p.mu
	err := l.Do(func(s *Subnet) (err error) {
		if p.end, err = s.End(node, port); err != nil {
			return err
		}
		p.host, err = s.AttachHost(p.end, HostOptions{Receive: p.put})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("data port of the emulated subnet: %w", err)
	}
	return p, nil
}

// put stores a packet; the subnet calls it.
func (p *Port) put(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.inbox.ends) >= inboxPackets || len(p.inbox.bytes)+len(b) > inboxBytes {
		p.lost++
		return
	}
	p.inbox.bytes = append(p.inbox.bytes, b...)
	p.inbox.ends = append(p.inbox.ends, len(p.inbox.bytes))
	p.changed.Broadcast()
}

// Overflowed counts the packets that were lost since nobody took them.
func (p *Port) Overflowed() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lost
}

// Transmit sends packets, in order, each from the LRH on, with the VCRC or
// without. It keeps nothing of them. What is no packet is passed over; what
// becomes of the others, the subnet counts.
func (p *Port) Transmit(packets [][]byte) {
	_ = p.live.Do(func(*Subnet) error {
		for _, b := range packets {
			_ = p.host.Send(b) // as an adapter that is told nonsense
		}
		return nil
	}) // a subnet that has ended loses all
}

// Receive has f called with the packets that come to the port, by one goroutine
// at a time, which is the only one to use them until f returns. F may call
// Transmit. Nil ends that, and waits for a call under way; it must not be called
// by f.
func (p *Port) Receive(f func(packets [][]byte)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.pump {
		p.stop = true
		p.changed.Broadcast()
		p.changed.Wait()
	}
	p.stop = false
	if f == nil || p.closed {
		return
	}
	p.pump = true
	go p.run(f)
}

// run gives packets to f until it is told to stop.
func (p *Port) run(f func(packets [][]byte)) {
	var spare inbox
	var list [][]byte
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.stop && !p.closed {
		if len(p.inbox.ends) == 0 {
			p.changed.Wait()
			continue
		}
		p.inbox, spare = inbox{spare.bytes[:0], spare.ends[:0]}, p.inbox
		p.mu.Unlock()
		list = spare.list(list[:0])
		f(list)
		p.mu.Lock()
	}
	p.pump = false
	p.changed.Broadcast()
}

// list cuts an inbox into its packets.
func (b *inbox) list(to [][]byte) [][]byte {
	start := 0
	for _, end := range b.ends {
		to = append(to, b.bytes[start:end:end])
		start = end
	}
	return to
}

// Close gives the port back. It waits for a call of what Receive was given.
func (p *Port) Close() error {
	err := p.live.Do(func(*Subnet) error {
		p.host.Detach()
		return nil
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.changed.Broadcast()
	for p.pump {
		p.changed.Wait()
	}
	if errors.Is(err, net.ErrClosed) { // and the port with it
		return nil
	}
	return err
}

// GUID is the port's.
func (p *Port) GUID() (guid ib.GUID) {
	p.read(func(_ *Subnet, x *port) { guid = x.guid })
	return guid
}

// Address is what a subnet manager has set: LID and LMC, the LID of the
// manager, the prefix of GIDs. Active is false as long as no data may be sent.
func (p *Port) Address() (lid ib.LID, lmc uint8, sm ib.LID, prefix uint64, active bool) {
	p.read(func(_ *Subnet, x *port) {
		i := &x.info
		lid, lmc, sm, prefix, active = i.LID, i.LMC, i.MasterSMLID, i.GidPrefix, i.PortState == mad.PortActive
	})
	return lid, lmc, sm, prefix, active
}

// MTU is that of the link, as the subnet manager has set it.
func (p *Port) MTU() (mtu ib.MTU) {
	p.read(func(_ *Subnet, x *port) { mtu = x.info.NeighborMTU })
	return mtu
}

// Rate is that of the link.
func (p *Port) Rate() (rate ib.LinkRate) {
	p.read(func(_ *Subnet, x *port) { rate = x.info.LinkRate() })
	return rate
}

// PKeys is the table of P_Keys, with entries that are not valid.
func (p *Port) PKeys() (keys []ib.PKey) {
	p.read(func(s *Subnet, _ *port) { keys = append(keys, s.pkeys(p.end)...) })
	return keys
}

// read looks at the port. One of a subnet that has ended tells nothing.
func (p *Port) read(f func(*Subnet, *port)) {
	_ = p.live.Do(func(s *Subnet) error { f(s, s.portOf(p.end)); return nil })
}
