package umad_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"heddle/ibsim"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
)

// server is a server of one node and one client, whose answers a test chooses.
type server struct {
	names   ibsim.Names
	control *net.UnixConn
	data    *net.UnixConn
	// answer changes the answer to a control message.
	answer func(c ibsim.Control) ibsim.Control
}

func startServer(t *testing.T, answer func(c ibsim.Control) ibsim.Control) *server {
	t.Helper()
	s := &server{names: ibsim.Names(testenv.SocketName(t)), answer: answer}
	s.control, s.data = s.listen(t, s.names.Server()), s.listen(t, s.names.Out(0))
	go s.serveControl()
	go s.serveData()
	return s
}

func (s *server) listen(t *testing.T, addr *net.UnixAddr) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram(addr.Net, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
	return conn
}

// serveControl sends junk before each answer.
func (s *server) serveControl() {
	b := make([]byte, 2*ibsim.ControlSize)
	for {
		n, from, err := s.control.ReadFromUnix(b)
		if err != nil {
			return
		}
		c, err := ibsim.ParseControl(b[:n])
		if err != nil {
			continue
		}
		from = ibsim.Source(from)
		late := c
		late.Type++
		for _, m := range [][]byte{{1, 2, 3}, make([]byte, ibsim.ControlSize), late.AppendTo(nil), s.reply(c).AppendTo(nil)} {
			s.control.WriteToUnix(m, from) //nolint:errcheck // the client's wait tells
		}
	}
}

func (s *server) reply(c ibsim.Control) ibsim.Control {
	if c.Type == ibsim.TypeConnect {
		connect, _ := ibsim.ParseConnect(c.Data[:])
		ibsim.ConnectSocket(s.data, s.names.In(connect.ID)) //nolint:errcheck // the client's wait tells
		c = c.Answer(ibsim.Connect{ID: 0, Node: "H-1"})
	}
	return s.answer(c)
}

// serveData answers all as a NodeInfo, after junk.
func (s *server) serveData() {
	b := make([]byte, ibsim.PacketSize)
	for {
		if _, err := s.data.Read(b); err != nil {
			return
		}
		p, err := ibsim.ParsePacket(b)
		if err != nil {
			return
		}
		p.MAD().SetMethod(mad.MethodGetResp)
		mad.NodeInfo{NodeGUID: 1, PortGUID: 2, LocalPortNum: 1}.AppendTo(p.MAD().Data()[:0])
		for _, m := range [][]byte{{1}, make([]byte, ibsim.PacketSize), make([]byte, 2*ibsim.PacketSize), p[:]} {
			s.data.Write(m) //nolint:errcheck // the client's wait tells
		}
	}
}

func same(c ibsim.Control) ibsim.Control { return c }

// outcome answers each REGISTER.
func outcome(o ibsim.Outcome) func(ibsim.Control) ibsim.Control {
	return func(c ibsim.Control) ibsim.Control {
		if c.Type != ibsim.TypeRegister {
			return c
		}
		r, err := ibsim.ParseRegister(c.Data[:])
		if err != nil || r.Outcome != ibsim.OutcomeUnknown {
			return c.Failed()
		}
		r.Outcome = o
		return c.Answer(r)
	}
}

func refuse(t ibsim.Type) func(ibsim.Control) ibsim.Control {
	return func(c ibsim.Control) ibsim.Control {
		if c.Type == t {
			return c.Failed()
		}
		return c
	}
}

func TestIBSimRegister(t *testing.T) {
	agent := umad.Agent{Class: mad.ClassSA, Version: 2, Methods: []mad.Method{mad.MethodReport}}
	for _, test := range []struct {
		name   string
		answer func(ibsim.Control) ibsim.Control
		want   error
	}{
		{"unknown comes back", same, nil},
		{"unknown is an error", refuse(ibsim.TypeRegister), nil},
		{"granted", outcome(ibsim.OutcomeGranted), nil},
		{"taken", outcome(ibsim.OutcomeTaken), umad.ErrClassTaken},
		{"unsupported", outcome(ibsim.OutcomeUnsupported), umad.ErrClassUnsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := attach(t, "ibsim:"+string(startServer(t, test.answer).names)+"/")
			if err := d.Register(agent); !errors.Is(err, test.want) {
				t.Fatalf("register: %v, want %v", err, test.want)
			}
			again := d.Register(agent)
			if test.want == nil && !errors.Is(again, umad.ErrClassTaken) || test.want != nil && !errors.Is(again, test.want) {
				t.Errorf("register again: %v", again)
			}
		})
	}
}

func TestIBSimBusy(t *testing.T) {
	d := attach(t, "ibsim:"+string(startServer(t, refuse(ibsim.TypeIsSM)).names)+"/")
	if err := d.SetIsSM(true); !errors.Is(err, umad.ErrBusy) {
		t.Errorf("set IsSM: %v", err)
	}
	if info, err := d.Info(); err != nil || info.PortGUID != 2 || !strings.HasSuffix(info.Name, "/H-1") {
		t.Errorf("%+v, %v", info, err)
	}
}

// TestIBSimDelivers sends a device what it did not ask for.
func TestIBSimDelivers(t *testing.T) {
	s := startServer(t, same)
	d := attach(t, "ibsim:"+string(s.names)+"/")
	const oui = 0x001405
	for _, a := range []umad.Agent{
		{Class: mad.ClassSA, Version: 2, Methods: []mad.Method{mad.MethodReport}},
		{Class: mad.ClassVendor2, Version: 1, OUI: oui},
	} {
		if err := d.Register(a); err != nil {
			t.Fatal(err)
		}
	}
	for tid, m := range []struct {
		header mad.Header
		oui    byte
		status uint32
		want   bool
	}{
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodReport}, 0, 0, true},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 1, Method: mad.MethodReport}, 0, 0, false},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet}, 0, 0, false},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGetTableResp}, 0, 0, true},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGetResp}, 0, 110, false},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet}, 0, 110, true},
		{mad.Header{Class: mad.ClassPerf, ClassVersion: 1, Method: mad.MethodGetResp}, 0, 0, false},
		{mad.Header{Class: 0xFF, Method: mad.MethodGet}, 0, 110, false},
		{mad.Header{Class: mad.ClassVendor2, ClassVersion: 1, Method: mad.MethodGetResp}, 0x05, 0, true},
		{mad.Header{Class: mad.ClassVendor2, ClassVersion: 1, Method: mad.MethodGetResp}, 0x06, 0, false},
		{mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodReport}, 0, 0, true},
	} {
		m.header.TID = uint64(tid)
		var p ibsim.Packet
		p.SetStatus(m.status)
		p.MAD().SetHeader(m.header)
		copy(p.MAD()[37:], []byte{0x00, 0x14, m.oui})
		if _, err := s.data.Write(p[:]); err != nil {
			t.Fatal(err)
		}
		if m.want {
			if msg, got := receive(t, d); got.TID() != uint64(tid) || (msg.Err != nil) != (m.status != 0) {
				t.Fatalf("got message %d, want %d (%v)", got.TID(), tid, msg.Err)
			}
		}
	}
}

// TestIBSimSendsWithoutReceive: a server that waits until its answers are read
// takes requests all the same, and no answer is lost.
func TestIBSimSendsWithoutReceive(t *testing.T) {
	d := attach(t, "ibsim:"+string(startServer(t, same).names)+"/")
	if err := d.Register(umad.Agent{Class: mad.ClassLID, Version: 1}); err != nil {
		t.Fatal(err)
	}
	const many = 2000 // more than sockets hold
	m := umad.Message{Address: umad.ToLID(1), Data: make([]byte, mad.Size)}
	for tid := range uint64(many) {
		m.Datagram().SetHeader(mad.Header{
			Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrNodeInfo, TID: tid,
		})
		if err := d.Send(&m, 0); err != nil {
			t.Fatal(err)
		}
	}
	for tid := range uint64(many) {
		if _, got := receive(t, d); got.TID() != tid {
			t.Fatalf("answer %d, want %d", got.TID(), tid)
		}
	}
}
