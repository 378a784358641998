package umad

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// IBSim is a Device at a node of ibsim, or of a server that speaks its
// protocol such as heddle's emulator. Only port 1 of an adapter can be had, and
// port 0 of a switch. There are no global routes: Message.GRH is ignored.
//
// A request that cannot be delivered comes back at once with ErrTimeout; one
// that nobody answers never does. The upper 16 bits of a request's transaction
// ID are the server's. Answers and requests to the queue pair that the client
// sends from are its own; requests to the queue pairs 0 and 1 of the port, such
// as traps, go to the client that has set IsSM.
type IBSim struct {
	link   simLink
	client uint32
	node   mad.NodeInfo
	nodeID string

	asks   sync.Mutex // one control message at a time; guards isSM
	isSM   bool
	agents simAgents
	sends  sync.Mutex // guards sender and out
	sender *ibsim.Sender
	out    [simBatch]ibsim.Packet

	inbox     simInbox
	reader    *ibsim.Reader // belongs to whoever set inbox.reading
	closeOnce sync.Once
	closeErr  error
	closed    chan struct{}
	running   sync.WaitGroup // has readOn; added to with sends held
}

// simBatch is how many datagrams SendAll sends with one system call.
const simBatch = 32

// newIBSim attaches to a node through sockets, which it closes where it fails.
func newIBSim(link simLink, node string) (*IBSim, error) {
	d := &IBSim{link: link, closed: make(chan struct{})}
	d.inbox.change.L = &d.inbox.mu
	err := d.openData()
	if err == nil {
		err = d.attach(node)
	}
	if err != nil {
		link.close()
		return nil, fmt.Errorf("%s: %w", link.name, err)
	}
	return d, nil
}

func (d *IBSim) openData() (err error) {
	if d.sender, err = ibsim.NewSender(d.link.data); err != nil {
		return err
	}
	d.reader, err = ibsim.NewReader(d.link.data)
	return err
}

// Name is the spec by which Open finds the node again.
func (d *IBSim) Name() string { return d.link.name + "/" + d.nodeID }

// Features tells that there are neither timers nor RMPP, and that programs with
// ibsim's preload library, which are at queue pair 1, know no RMPP. What is sent
// again to one of them ibsim gives to the next that comes, which it kills if it
// is there before that program is ready.
func (d *IBSim) Features() Features { return Features{Deaf: true} }

// Dropped is the number of datagrams that came while too many waited, as a send
// did for room.
func (d *IBSim) Dropped() uint64 { return d.inbox.lost.Load() }

// Info asks the server for the port's state.
func (d *IBSim) Info() (Info, error) {
	answer, err := d.ask(ibsim.TypePortInfo, ibsim.PortNumber(0))
	if err != nil {
		return Info{}, err
	}
	port, err := mad.ParsePortInfo(answer.Data[:])
	if err != nil {
		return Info{}, fmt.Errorf("%s: %w", d.Name(), err)
	}
	if answer, err = d.ask(ibsim.TypePKeys, nil); err != nil {
		return Info{}, err
	}
	keys, err := ibsim.ParsePKeys(answer.Data[:])
	if err != nil {
		return Info{}, fmt.Errorf("%s: %w", d.Name(), err)
	}
	return d.info(port, keys), nil
}

// defaultPrefix is that of a port to which no subnet manager gave one.
const defaultPrefix = 0xFE80 << 48

// info puts together what is known. ibsim tells 0 for the default prefix.
func (d *IBSim) info(port mad.PortInfo, keys []ib.PKey) Info {
	return Info{
		Name: d.Name(), Device: d.nodeID, Port: d.node.LocalPortNum,
		NodeGUID: d.node.NodeGUID, PortGUID: d.node.PortGUID,
		Prefix: cmp.Or(port.GidPrefix, defaultPrefix), LID: port.LID, LMC: port.LMC,
		SMLID: port.MasterSMLID, SMSL: port.MasterSMSL, State: port.PortState,
		PKeys: keys, QPN: d.link.qp, Capabilities: uint32(port.CapabilityMask),
	}
}

// SetIsSM sets the port's capability bit. ibsim never refuses: of two subnet
// managers at one port the first gets what comes in.
func (d *IBSim) SetIsSM(on bool) error {
	_, err := d.askThen(ibsim.TypeIsSM, ibsim.IsSM(on), func() { d.isSM = on })
	if errors.Is(err, errSimRefused) {
		return fmt.Errorf("%w: %w", ErrBusy, err)
	}
	return err
}

// Send sends a datagram.
func (d *IBSim) Send(m *Message, _ time.Duration) error { return d.SendAll(m) }

// SendAll sends datagrams, with as few system calls as can be. Where it fails,
// some may have been sent.
func (d *IBSim) SendAll(list ...*Message) error {
	for _, m := range list {
		if len(m.Data) != mad.Size {
			return fmt.Errorf("%s: datagram of %d bytes, want %d", d.Name(), len(m.Data), mad.Size)
		}
	}
	for ; len(list) > 0; list = list[min(simBatch, len(list)):] {
		if err := d.write(list[:min(simBatch, len(list))]...); err != nil {
			return d.failed("send", err)
		}
	}
	return nil
}

func (d *IBSim) write(list ...*Message) error {
	d.sends.Lock()
	defer d.sends.Unlock()
	for i, m := range list {
		d.fill(&d.out[i], m)
	}
	sent, err := d.sender.SendAll(d.out[:len(list)])
	if errors.Is(err, ibsim.ErrNoRoom) {
		err = d.writeLate(d.out[sent:len(list)])
	}
	return err
}

// writeLate waits for room. It sees to it that somebody reads meanwhile, as
// ibsim makes no room while it waits for a client to read, and whoever calls
// Receive may be waiting here.
func (d *IBSim) writeLate(packets []ibsim.Packet) error {
	over := false
	d.running.Go(func() { d.readUntil(&over) })
	_, err := d.sender.WaitAll(packets)
	d.inbox.mu.Lock()
	defer d.inbox.mu.Unlock()
	over = true
	d.inbox.change.Broadcast()
	return err
}

// fill writes a message into a packet. The server puts the port's LID where
// the source is 0.
func (d *IBSim) fill(p *ibsim.Packet, m *Message) {
	copy(p.MAD()[:], m.Data)
	p.SetLength(mad.Size)
	p.SetStatus(0)
	p.SetDLID(m.LID)
	p.SetSLID(0)
	if m.LID == ib.PermissiveLID {
		p.SetSLID(ib.PermissiveLID)
	}
	p.SetDQP(m.QPN)
	p.SetSQP(d.link.qp)
	if p.MAD().Class().IsSMP() {
		p.SetDQP(ib.SMIQPN)
		p.SetSQP(ib.SMIQPN)
	}
}

// failed gives an error of the data socket its name: that of a closed device,
// or of a server that is gone.
func (d *IBSim) failed(what string, err error) error {
	select {
	case <-d.closed:
		return net.ErrClosed
	default:
		return fmt.Errorf("%s: %s: %w", d.Name(), what, gone(err))
	}
}

// Receive waits for the next datagram of a registered class.
func (d *IBSim) Receive(m *Message) error {
	select {
	case <-d.closed:
		return net.ErrClosed
	default:
	}
	p := d.inbox.next()
	if p == nil {
		if err := d.readFirst(); err != nil {
			return err
		}
		p = d.inbox.next()
	}
	take(m, p)
	return nil
}

// Waiting tells whether Receive would return at once. It is for the goroutine
// that calls Receive.
func (d *IBSim) Waiting() bool { return d.inbox.waiting() }

// take makes a message of a packet. One that came back is told with the
// address that it was sent to.
func take(m *Message, p *ibsim.Packet) {
	data := append(m.Data[:0], p.MAD()[:]...)
	*m = Message{Data: data}
	if p.Status() == 0 {
		m.LID, m.QPN = p.SLID(), p.SQP()
	} else {
		m.LID, m.QPN, m.Err = p.DLID(), p.DQP(), ErrTimeout
	}
	if m.QPN != ib.SMIQPN {
		m.QKey = ib.GSIQKey
	}
}

// readFirst reads until something is in the inbox, which another goroutine may
// have put there.
func (d *IBSim) readFirst() error {
	b := &d.inbox
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.full) == 0 && b.err == nil {
		d.readOnce()
	}
	if len(b.full) == 0 {
		return b.err
	}
	return nil
}

// readUntil reads until it is over, which the inbox's lock guards.
func (d *IBSim) readUntil(over *bool) {
	d.inbox.mu.Lock()
	defer d.inbox.mu.Unlock()
	for !*over && d.inbox.err == nil {
		d.readOnce()
	}
}

// readOnce moves what comes from the socket to the inbox, or waits for whoever
// does. The inbox's lock is held, but not meanwhile.
func (d *IBSim) readOnce() {
	b := &d.inbox
	if b.reading {
		b.change.Wait()
		return
	}
	b.reading = true
	b.mu.Unlock()
	packets, err := d.reader.Read()
	b.mu.Lock()
	b.reading = false
	if err != nil {
		b.err = d.failed("receive", err)
	}
	b.put(packets, &d.agents)
	b.change.Broadcast()
}

// Close gives the place at the node back.
func (d *IBSim) Close() error {
	d.closeOnce.Do(func() {
		close(d.closed)
		d.closeErr = d.detach()
		d.link.close()
		d.sends.Lock() // whoever sends later finds the socket closed
		defer d.sends.Unlock()
		d.running.Wait()
	})
	return d.closeErr
}
