package umad

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"heddle/ib"
	"heddle/ibsim"
	"heddle/mad"
)

// simPatience is how long the server may take for an answer to a control
// message, and for each of the tries of the first datagram.
const (
	simPatience = 5 * time.Second
	simTry      = time.Second
	simTries    = 3
)

// errSimRefused is of a control message that the server answered with an
// error; it gives no reason.
var errSimRefused = errors.New("refused by the server")

// gone turns the error of a socket whose other end is not there, or no more.
func gone(err error) error {
	for _, sign := range []error{syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.ENOTCONN} {
		if errors.Is(err, sign) {
			return fmt.Errorf("%w: no server there: %w", ErrNoDevice, err)
		}
	}
	return err
}

// ask sends a control message and waits for the answer.
func (d *IBSim) ask(t ibsim.Type, body ibsim.Body) (ibsim.Control, error) {
	return d.askThen(t, body, func() {})
}

// askThen also does something after the answer, before others may ask.
func (d *IBSim) askThen(t ibsim.Type, body ibsim.Body, then func()) (ibsim.Control, error) {
	d.asks.Lock()
	defer d.asks.Unlock()
	select {
	case <-d.closed:
		return ibsim.Control{}, net.ErrClosed
	default:
	}
	answer, err := d.link.exchange(ibsim.NewControl(d.client, t, body))
	if err != nil {
		return ibsim.Control{}, fmt.Errorf("%s: %w", d.Name(), err)
	}
	then()
	return answer, nil
}

// exchange sends a request and waits for the answer. It passes over what is no
// answer to it, as an answer that came too late for an earlier one.
func (l *simLink) exchange(request ibsim.Control) (ibsim.Control, error) {
	fail := func(err error) (ibsim.Control, error) {
		return ibsim.Control{}, fmt.Errorf("%v: %w", request.Type, err)
	}
	if err := l.control.SetDeadline(time.Now().Add(simPatience)); err != nil {
		return fail(err)
	}
	if _, err := l.control.Write(request.AppendTo(nil)); err != nil {
		return fail(gone(err))
	}
	b := make([]byte, ibsim.ControlSize+1)
	for {
		n, err := l.control.Read(b)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return fail(fmt.Errorf("no answer of the server in %v: %w", simPatience, ErrTimeout))
		}
		if err != nil {
			return fail(gone(err))
		}
		answer, err := ibsim.ParseControl(b[:n])
		switch {
		case err != nil: // not for us
		case answer.Type == request.Type:
			return answer, nil
		case answer.Type == ibsim.TypeError:
			return fail(errSimRefused)
		}
	}
}

// attach takes a place at a node and asks the node who it is.
func (d *IBSim) attach(node string) error {
	answer, err := d.connect(node)
	if err != nil {
		return err
	}
	d.client, d.nodeID = answer.ID, answer.Node
	if err := d.attached(); err != nil {
		d.detach() //nolint:errcheck // the first error is told
		return err
	}
	return nil
}

func (d *IBSim) attached() error {
	out, err := d.link.out(d.client)
	if err != nil {
		return err
	}
	if err := ibsim.ConnectSocket(d.link.data, out); err != nil {
		return err
	}
	d.node, err = d.askNode()
	if err != nil {
		return fmt.Errorf("node %s: %w", d.nodeID, err)
	}
	return nil
}

// connect tries the names under which a server may know the node: as it is
// given, and where it is a GUID the IDs that are made of GUIDs.
func (d *IBSim) connect(node string) (ibsim.Connect, error) {
	if len(node) > ibsim.MaxNode {
		return ibsim.Connect{}, fmt.Errorf("node %q: name of %d bytes, at most %d", node, len(node), ibsim.MaxNode)
	}
	names := []string{node}
	if guid, err := ib.ParseGUID(node); err == nil {
		for _, prefix := range []string{"H", "S", "R"} {
			names = append(names, fmt.Sprintf("%s-%016x", prefix, uint64(guid)))
		}
	}
	for _, name := range names {
		request := ibsim.Connect{ID: d.link.id, QP: d.link.qp, Node: name}
		answer, err := d.link.exchange(ibsim.NewControl(0, ibsim.TypeConnect, request))
		if err == nil {
			return ibsim.ParseConnect(answer.Data[:])
		}
		if !errors.Is(err, errSimRefused) {
			return ibsim.Connect{}, err
		}
	}
	return ibsim.Connect{}, fmt.Errorf("no node %q, or no place for one more client: %w", node, ErrNoDevice)
}

// askNode asks the own node for its NodeInfo by a directed route without hops.
// The server's own answer to the question has a wrong PortGUID, and no server
// answers before it has the place ready.
func (d *IBSim) askNode() (mad.NodeInfo, error) {
	const tid = 0x68656401
	var m Message
	m.Data = make([]byte, mad.Size)
	request := (*mad.Datagram)(m.Data)
	request.SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, TID: tid, Attr: mad.AttrNodeInfo,
	})
	if err := request.SetPath(nil); err != nil {
		return mad.NodeInfo{}, err
	}
	m.Address = ByRoute()
	for range simTries {
		if err := d.write(&m); err != nil {
			return mad.NodeInfo{}, gone(err)
		}
		answer, err := d.awaitNode(tid)
		if err == nil {
			return mad.ParseNodeInfo(answer.Data())
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return mad.NodeInfo{}, gone(err)
		}
	}
	return mad.NodeInfo{}, fmt.Errorf("the node's own agent: %w", ErrTimeout)
}

// awaitNode waits for the answer to the first datagram; a node that is down
// sends it back.
func (d *IBSim) awaitNode(tid uint32) (*mad.Datagram, error) {
	if err := d.link.data.SetReadDeadline(time.Now().Add(simTry)); err != nil {
		return nil, err
	}
	defer d.link.data.SetReadDeadline(time.Time{}) //nolint:errcheck // the first read tells
	for {
		packets, err := d.reader.Read()
		if err != nil {
			return nil, err
		}
		for i := range packets {
			p := &packets[i]
			if m := p.MAD(); m.Attr() == mad.AttrNodeInfo && uint32(m.TID()) == tid {
				if p.Status() != 0 {
					return nil, fmt.Errorf("the node's own agent: %w", ErrTimeout)
				}
				return m, nil
			}
		}
	}
}

// detach takes the mark of a subnet manager back, which ibsim leaves, and gives
// the place back. A server that is gone is no fault.
func (d *IBSim) detach() error {
	d.asks.Lock()
	defer d.asks.Unlock()
	if d.isSM {
		if _, err := d.link.exchange(ibsim.NewControl(d.client, ibsim.TypeIsSM, ibsim.IsSM(false))); err != nil {
			return ignoreGone(err)
		}
	}
	_, err := d.link.exchange(ibsim.NewControl(d.client, ibsim.TypeDisconnect, nil))
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	if errors.Is(err, ErrNoDevice) {
		return nil
	}
	return err
}
