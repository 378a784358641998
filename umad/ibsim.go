package umad

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// simQueue is how many datagrams wait for a Receive; more are dropped, as
// ibsim stands still while a client does not read.
const simQueue = 4096

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

	asks      sync.Mutex // one control message at a time; guards isSM
	isSM      bool
	agents    simAgents
	sends     sync.Mutex // guards out
	out       ibsim.Packet
	queue     chan *ibsim.Packet
	free      sync.Pool     // of *ibsim.Packet
	dropped   atomic.Uint64 // by a full queue
	closeOnce sync.Once
	closeErr  error
	closed    chan struct{}
	done      chan struct{} // closed when the reader has ended
	readErr   error         // why it ended; read after done
}

// newIBSim attaches to a node through sockets, which it closes where it fails.
func newIBSim(link simLink, node string) (*IBSim, error) {
	d := &IBSim{
		link: link, queue: make(chan *ibsim.Packet, simQueue),
		closed: make(chan struct{}), done: make(chan struct{}),
	}
	d.free.New = func() any { return new(ibsim.Packet) }
	if err := d.attach(node); err != nil {
		link.close()
		return nil, fmt.Errorf("%s: %w", link.name, err)
	}
	go d.read()
	return d, nil
}

// Name is the spec by which Open finds the node again.
func (d *IBSim) Name() string { return d.link.name + "/" + d.nodeID }

// Features tells that there are neither timers nor RMPP, and that programs with
// ibsim's preload library, which are at queue pair 1, know no RMPP. What is sent
// again to one of them ibsim gives to the next that comes, which it kills if it
// is there before that program is ready.
func (d *IBSim) Features() Features { return Features{Deaf: true} }

// Dropped is the number of datagrams that came while too many waited.
func (d *IBSim) Dropped() uint64 { return d.dropped.Load() }

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
func (d *IBSim) Send(m *Message, _ time.Duration) error {
	if len(m.Data) != mad.Size {
		return fmt.Errorf("%s: datagram of %d bytes, want %d", d.Name(), len(m.Data), mad.Size)
	}
	if err := d.write(m); err != nil {
		return d.failed("send", err)
	}
	return nil
}

func (d *IBSim) write(m *Message) error {
	d.sends.Lock()
	defer d.sends.Unlock()
	d.fill(&d.out, m)
	_, err := d.link.data.Write(d.out[:])
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
	select {
	case p := <-d.queue:
		d.take(m, p)
		return nil
	case <-d.done:
	}
	select { // what came before the end
	case p := <-d.queue:
		d.take(m, p)
		return nil
	default:
		return d.readErr
	}
}

// take makes a message of a packet. One that came back is told with the
// address that it was sent to.
func (d *IBSim) take(m *Message, p *ibsim.Packet) {
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
	d.free.Put(p)
}

// read moves datagrams from the socket to the queue until the socket ends.
func (d *IBSim) read() {
	defer close(d.done)
	for {
		p, err := d.next()
		if err != nil {
			d.readErr = d.failed("receive", err)
			return
		}
		if !d.agents.want(p) {
			d.free.Put(p)
			continue
		}
		select {
		case d.queue <- p:
		default:
			d.dropped.Add(1)
			d.free.Put(p)
		}
	}
}

// next reads one packet and passes over what is none.
func (d *IBSim) next() (*ibsim.Packet, error) {
	p := d.free.Get().(*ibsim.Packet)
	for {
		n, err := d.link.data.Read(p[:])
		if err != nil {
			d.free.Put(p)
			return nil, err
		}
		if n == ibsim.PacketSize {
			return p, nil
		}
	}
}

// Close gives the place at the node back.
func (d *IBSim) Close() error {
	d.closeOnce.Do(func() {
		close(d.closed)
		d.closeErr = d.detach()
		d.link.close()
		<-d.done
	})
	return d.closeErr
}
