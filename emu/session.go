package emu

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// session is one client of a Server.
type session struct {
	server *Server
	id     uint32 // of its Connect
	owner  string // what nobody else can attach with; see sockets
	from   string // the address of its control messages
	node   string
	client *Client
	conn   socket
	outbox *outbox

	out     ibsim.Packet // belongs to whoever runs the subnet, as what follows
	sending uint64       // the transaction that is being sent, 0 when answered
	waiting map[uint64]*waiting
	gone    bool
}

// open attaches the client and binds the socket of its data.
func (x *session) open(want ibsim.Connect, from net.Addr) error {
	s := x.server
	err := s.live.Do(func(sub *Subnet) error {
		end, err := sub.End(want.Node, 0)
		if err != nil {
			return err
		}
		x.node = sub.fabric.Node(end.Node).ID
		x.client, err = sub.Attach(end, ClientOptions{
			Name: fmt.Sprintf("ibsim %d", want.ID),
			QP:   want.QP, Implicit: want.QP <= ib.GSIQPN, Receive: x.receive, Closed: x.shut,
		})
		if err != nil || !want.IsSM {
			return err
		}
		return x.client.SetIsSM(true)
	})
	if err == nil {
		x.conn, err = s.sockets.data(uint32(x.client.ID()), want.ID, from)
	}
	if err == nil {
		x.outbox, err = newOutbox(x.conn, &s.wait, func() { s.lose(x) })
	}
	if err != nil && x.client != nil {
		x.detach()
	}
	return err
}

// read takes the client's packets until its socket is closed. What came at once
// is carried at once, and so is what the agents answer.
func (x *session) read() {
	reader, err := ibsim.NewReader(x.conn)
	if err != nil {
		return // the socket is closed
	}
	for {
		packets, err := reader.Read()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil && isGone(err) {
			x.server.lose(x)
		}
		for ; len(packets) > 0; packets = packets[min(atOnce, len(packets)):] {
			if x.server.live.Do(func(s *Subnet) error { x.sendAll(s, packets[:min(atOnce, len(packets))]); return nil }) != nil {
				return
			}
		}
	}
}

// atOnce is how many packets of a client are carried before others may use the
// subnet and answers go out.
const atOnce = 16

// isGone tells whether an error says that nobody has the client's socket.
func isGone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET)
}

func (x *session) sendAll(s *Subnet, packets []ibsim.Packet) {
	for i := range packets {
		x.send(s, &packets[i])
	}
}

// send carries a client's packet into the subnet.
func (x *session) send(s *Subnet, in *ibsim.Packet) {
	p := Packet{MAD: *in.MAD(), SLID: in.SLID(), DLID: in.DLID(), SQP: in.SQP(), DQP: in.DQP()}
	if !p.MAD.Class().IsSMP() {
		p.QKey, p.PKey = ib.GSIQKey, s.pkeys(x.client.end)[0]
	}
	if p.MAD.IsResponse() || !x.client.opts.Implicit || !expectsAnswer(p.MAD.Method()) {
		x.client.Send(&p)
		return
	}
	x.ask(s, &p)
}

func expectsAnswer(m mad.Method) bool {
	_, ok := m.Response()
	return ok
}

// receive gives a packet to the client.
func (x *session) receive(p *Packet) {
	if p.MAD.IsResponse() && !x.answered(p.MAD.TID()) && x.client.opts.Implicit {
		return
	}
	x.deliver(p, 0)
}

func (x *session) deliver(p *Packet, status uint32) {
	if x.gone || x.outbox == nil {
		return
	}
	o := &x.out
	*o.MAD() = p.MAD
	o.SetSLID(p.SLID)
	o.SetDLID(p.DLID)
	o.SetSQP(p.SQP)
	o.SetDQP(p.DQP)
	o.SetStatus(status)
	o.SetLength(mad.Size)
	if x.outbox.put(o) {
		x.server.live.outboxes = append(x.server.live.outboxes, x.outbox)
	}
}

// detach takes the client out of the subnet.
func (x *session) detach() {
	err := x.server.live.Do(func(*Subnet) error {
		x.gone, x.waiting = true, nil
		x.client.Detach()
		return nil
	})
	if err != nil && !errors.Is(err, net.ErrClosed) {
		x.server.cfg.Log.Error("client not detached", "client", x.client.ID(), "error", err)
	}
}

// close detaches the client and closes its socket.
func (x *session) close() {
	x.detach()
	x.shut()
}

// shut ends read.
func (x *session) shut() {
	if x.conn == nil {
		return
	}
	if err := x.conn.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		x.server.cfg.Log.Error("socket not closed", "client", x.client.ID(), "error", fmt.Errorf("close: %w", err))
	}
}
