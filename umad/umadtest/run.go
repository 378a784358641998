package umadtest

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/mad"
	"heddle/umad"
)

// Conn is what Run tests: two devices that can send to each other.
type Conn struct {
	// Device is tested; Peer may be of another kind.
	Device, Peer umad.Device
	// ToPeer is the address of Peer for Device, ToDevice that of Device for
	// Peer.
	ToPeer, ToDevice umad.Address
	// Agent is what both register; it has at least the method Get. Other is of
	// another class, which only Peer registers, to send in it.
	Agent, Other umad.Agent
}

// patience is how long a test waits for what has to come.
const patience = 10 * time.Second

// Run tests the contract of umad.Device. Each test opens a Conn of its own, and
// closes its devices.
func Run(t *testing.T, open func(t *testing.T) Conn) {
	tests := []struct {
		name string
		test func(t *testing.T, c *conn)
	}{
		{"Info", testInfo},
		{"RegisterTwice", testRegisterTwice},
		{"Exchange", testExchange},
		{"OtherClass", testOtherClass},
		{"Timeout", testTimeout},
		{"SendNeverWaits", testSendNeverWaits},
		{"SetIsSM", testSetIsSM},
		{"Close", testClose},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &conn{Conn: open(t)}
			c.near, c.far = listen(c.Device), listen(c.Peer)
			defer c.near.close(t)
			defer c.far.close(t)
			test.test(t, c)
		})
	}
}

// conn is a Conn of which somebody receives on both sides.
type conn struct {
	Conn
	near, far *listener
}

// register has both devices register the agent.
func (c *conn) register(t *testing.T) {
	t.Helper()
	if err := c.Device.Register(c.Agent); err != nil {
		t.Fatalf("Register: %v", err)
	}
	if err := c.Peer.Register(c.Agent); err != nil {
		t.Fatalf("Register of the peer: %v", err)
	}
}

// request is a Get of an agent's class, with an ID of 32 bits.
func request(a umad.Agent, to umad.Address, tid uint32) *umad.Message {
	var d mad.Datagram
	d.SetHeader(mad.Header{
		Class: a.Class, ClassVersion: a.Version, Method: mad.MethodGet,
		TID: uint64(tid), Attr: mad.AttrClassPortInfo, Modifier: 7,
	})
	d[37], d[38], d[39] = byte(a.OUI>>16), byte(a.OUI>>8), byte(a.OUI)
	for i := 64; i < mad.Size; i++ {
		d[i] = byte(i)
	}
	return &umad.Message{Address: to, Data: d[:]}
}

// listener receives all the time.
type listener struct {
	dev      umad.Device
	messages chan *umad.Message
	end      chan error // what Receive ended with
}

func listen(dev umad.Device) *listener {
	l := &listener{dev, make(chan *umad.Message, 4096), make(chan error, 1)}
	go l.run()
	return l
}

func (l *listener) run() {
	var m umad.Message
	for {
		m.Err = nil
		if err := l.dev.Receive(&m); err != nil {
			l.end <- err
			return
		}
		select {
		case l.messages <- m.Clone():
		default: // nobody looks at so many
		}
	}
}

func (l *listener) next(t *testing.T) *umad.Message {
	t.Helper()
	select {
	case m := <-l.messages:
		return m
	case err := <-l.end:
		l.end <- err
		t.Fatalf("Receive: %v", err)
	case <-time.After(patience):
		t.Fatal("nothing received")
	}
	return nil
}

// close ends the goroutine of listen and checks what Receive says.
func (l *listener) close(t *testing.T) {
	t.Helper()
	if err := l.dev.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	select {
	case err := <-l.end:
		if l.end <- err; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Receive after Close: %v, want net.ErrClosed", err)
		}
	case <-time.After(patience):
		t.Error("Close does not end a Receive that waits")
	}
}

func testInfo(t *testing.T, c *conn) {
	info, err := c.Device.Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.Name == "" || !info.PortGUID.IsValid() || info.Port == 0 && len(info.PKeys) == 0 && info.State == mad.PortNoChange {
		t.Errorf("info %+v", info)
	}
	again, err := c.Device.Info()
	if diff := cmp.Diff(info, again); err != nil || diff != "" {
		t.Errorf("second call: %v (-first +second):\n%s", err, diff)
	}
}

func testRegisterTwice(t *testing.T, c *conn) {
	if err := c.Device.Register(c.Agent); err != nil {
		t.Fatal(err)
	}
	if err := c.Device.Register(c.Agent); !errors.Is(err, umad.ErrClassTaken) {
		t.Errorf("again: %v, want ErrClassTaken", err)
	}
	more := c.Agent
	more.Methods = []mad.Method{mad.MethodTrap}
	if err := c.Device.Register(more); err != nil {
		t.Errorf("another method of the class: %v", err)
	}
	more.Methods = nil
	if err := c.Device.Register(more); err != nil {
		t.Errorf("no more methods of the class: %v", err)
	}
}

// testExchange asks in both directions, and answers to the address that Receive
// gave.
func testExchange(t *testing.T, c *conn) {
	c.register(t)
	exchange(t, c.near, c.far, request(c.Agent, c.ToPeer, 0x12345678))
	exchange(t, c.far, c.near, request(c.Agent, c.ToDevice, 0x9abcdef0))
}

func exchange(t *testing.T, from, to *listener, req *umad.Message) {
	t.Helper()
	if err := from.dev.Send(req, patience); err != nil {
		t.Fatalf("Send: %v", err)
	}
	got := to.next(t)
	compare(t, "request", req, got)
	if err := got.Reply(mad.StatusBusy); err != nil {
		t.Fatal(err)
	}
	if err := to.dev.Send(got, 0); err != nil {
		t.Fatalf("Send of the answer: %v", err)
	}
	want := req.Clone()
	_ = want.Reply(mad.StatusBusy)
	answer := from.next(t)
	compare(t, "answer", want, answer)
	if answer.LID != req.LID || answer.QPN != req.QPN {
		t.Errorf("answer of LID %s QP %v, the request went to LID %s QP %v", answer.LID, answer.QPN, req.LID, req.QPN)
	}
}

// compare leaves out the upper half of the ID.
func compare(t *testing.T, what string, want, got *umad.Message) {
	t.Helper()
	got = got.Clone()
	if len(got.Data) >= mad.Size {
		copy(got.Data[8:12], want.Data[8:12])
	}
	if diff := cmp.Diff(want.Data, got.Data); diff != "" || got.Err != nil {
		t.Fatalf("%s: error %v (-sent +received):\n%s", what, got.Err, diff)
	}
}

// testOtherClass is case S6: what nobody registered does not come.
func testOtherClass(t *testing.T, c *conn) {
	c.register(t)
	if err := c.Peer.Register(c.Other); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := c.Peer.Send(request(c.Other, c.ToDevice, 1), 0); err != nil {
			t.Fatal(err)
		}
	}
	last := request(c.Agent, c.ToDevice, 2)
	if err := c.Peer.Send(last, 0); err != nil {
		t.Fatal(err)
	}
	compare(t, "the first that comes", last, c.near.next(t))
}

// testTimeout asks a peer that does not answer.
func testTimeout(t *testing.T, c *conn) {
	if !c.Device.Features().Timers {
		return
	}
	c.register(t)
	const timeout = 100 * time.Millisecond
	start := time.Now()
	if err := c.Device.Send(request(c.Agent, c.ToPeer, 0x11223344), timeout); err != nil {
		t.Fatal(err)
	}
	m := c.near.next(t)
	if !errors.Is(m.Err, umad.ErrTimeout) || len(m.Data) < 24 || tid(m) != 0x11223344 {
		t.Errorf("message with error %v and %x, want the request back", m.Err, m.Data)
	}
	if took := time.Since(start); took < timeout {
		t.Errorf("came back after %v", took)
	}
}

// testSendNeverWaits sends more than any queue holds, to a peer that does not
// answer.
func testSendNeverWaits(t *testing.T, c *conn) {
	c.register(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := range 2000 {
			_ = c.Device.Send(request(c.Agent, c.ToPeer, uint32(i+1)), 0)
		}
	}()
	select {
	case <-done:
	case <-time.After(patience):
		t.Error("Send waits")
		_ = c.Device.Close()
		<-done
	}
}

func testSetIsSM(t *testing.T, c *conn) {
	for _, on := range []bool{true, false, true} {
		err := c.Device.SetIsSM(on)
		if errors.Is(err, umad.ErrNotInfiniBand) {
			return // the port has no such bit
		}
		if err != nil {
			t.Fatalf("SetIsSM(%v): %v", on, err)
		}
	}
}

func testClose(t *testing.T, c *conn) {
	c.register(t)
	c.near.close(t)
	if err := c.Device.Send(request(c.Agent, c.ToPeer, 1), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Send after Close: %v, want net.ErrClosed", err)
	}
	var m umad.Message
	if err := c.Device.Receive(&m); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Receive after Close: %v, want net.ErrClosed", err)
	}
}
