package emu_test

import (
	"net"
	"testing"
	"time"

	"heddle/emu"
	"heddle/ibsim"
	"heddle/mad"
)

// raw is a client of a server that keeps to nothing.
type raw struct {
	t             testing.TB
	names         ibsim.Names
	id            uint32
	control, data *net.UnixConn
}

// newRaw binds the sockets of a client.
func newRaw(t testing.TB, name string, id uint32) *raw {
	t.Helper()
	r := &raw{t: t, names: ibsim.Names(name), id: id}
	r.control, r.data = bind(t, r.names.Client(id)), bind(t, r.names.In(id))
	return r
}

func bind(t testing.TB, name *net.UnixAddr) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // some are closed already
	return conn
}

// say sends any bytes as a control message.
func (r *raw) say(b []byte) {
	r.t.Helper()
	if _, err := r.control.WriteTo(b, r.names.Server()); err != nil {
		r.t.Fatal(err)
	}
}

// hear waits for the next answer to a control message.
func (r *raw) hear() ibsim.Control {
	r.t.Helper()
	b := make([]byte, ibsim.ControlSize)
	if err := r.control.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	n, err := r.control.Read(b)
	if err != nil {
		r.t.Fatal(err)
	}
	c, err := ibsim.ParseControl(b[:n])
	if err != nil {
		r.t.Fatal(err)
	}
	return c
}

func (r *raw) ask(client uint32, what ibsim.Type, body ibsim.Body) ibsim.Control {
	r.t.Helper()
	r.say(ibsim.NewControl(client, what, body).AppendTo(nil))
	return r.hear()
}

// connect asks for a place, with a new data socket. ok is false where it is
// refused.
func (r *raw) connect(c ibsim.Connect) (number uint32, ok bool) {
	r.t.Helper()
	if err := r.data.Close(); err != nil {
		r.t.Fatal(err)
	}
	r.data = bind(r.t, r.names.In(r.id))
	c.ID = r.id
	answer := r.ask(0, ibsim.TypeConnect, c)
	return answer.Client, answer.Type == ibsim.TypeConnect
}

// attach gets a place at a node, and its number.
func (r *raw) attach(node string) uint32 {
	r.t.Helper()
	number, ok := r.connect(ibsim.Connect{Node: node})
	if !ok {
		r.t.Fatal("refused")
	}
	if err := ibsim.ConnectSocket(r.data, r.names.Out(number)); err != nil {
		r.t.Fatal(err)
	}
	return number
}

// works makes sure that a client still has its place and gets answers.
func (r *raw) works(number uint32) {
	r.t.Helper()
	if answer := r.ask(number, ibsim.TypePort, nil); answer.Type != ibsim.TypePort {
		r.t.Fatalf("client %d has lost its place", number)
	}
	r.post(1)
	b := make([]byte, ibsim.PacketSize)
	if err := r.data.SetReadDeadline(time.Now().Add(patience)); err != nil {
		r.t.Fatal(err)
	}
	n, err := r.data.Read(b)
	if err != nil {
		r.t.Fatal(err)
	}
	p, err := ibsim.ParsePacket(b[:n])
	if err != nil || p.Status() != 0 || !p.MAD().IsResponse() {
		r.t.Fatalf("client %d gets no answer but %x, %v", number, b[:n], err)
	}
}

// post asks the own node who it is.
func (r *raw) post(tid uint64) {
	r.t.Helper()
	var p ibsim.Packet
	p.SetDLID(0xFFFF)
	p.SetSLID(0xFFFF)
	p.SetLength(mad.Size)
	p.MAD().SetHeader(mad.Header{
		Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, TID: tid, Attr: mad.AttrNodeInfo,
	})
	if err := p.MAD().SetPath(nil); err != nil {
		r.t.Fatal(err)
	}
	if _, err := r.data.Write(p[:]); err != nil {
		r.t.Fatal(err)
	}
}

// TestHostileControl: whatever one client says to the server, another keeps its
// place and gets answers.
func TestHostileControl(t *testing.T) {
	s := serve(t, generate(t, "single:hosts=3"), emu.Config{})
	good, bad := newRaw(t, s.name, 1001), newRaw(t, s.name, 1002)
	number := good.attach("")
	message := func(client uint32, what ibsim.Type, body ibsim.Body) []byte {
		return ibsim.NewControl(client, what, body).AppendTo(nil)
	}
	connect := func(c ibsim.Connect) []byte { return message(0, ibsim.TypeConnect, c) }
	noNUL := connect(ibsim.Connect{ID: bad.id})
	for i := 16 + 12; i < 16+44; i++ {
		noNUL[i] = 'x'
	}
	tests := []struct {
		name     string
		message  []byte
		answered bool // with an error; else not at all
	}{
		{"nothing", nil, false},
		{"one byte", []byte{1}, false},
		{"too short", message(number, ibsim.TypeDisconnect, nil)[:79], false},
		{"too long", append(message(number, ibsim.TypeDisconnect, nil), 0), false},
		{"other magic", append([]byte{1, 2, 3, 4}, message(number, ibsim.TypeDisconnect, nil)[4:]...), false},
		{"no such type", message(number, 99, nil), true},
		{"before it attached", message(0, ibsim.TypePort, nil), true},
		{"of a number that nobody has", message(1<<32-1, ibsim.TypePort, nil), true},
		{"to an unknown node", connect(ibsim.Connect{ID: bad.id, Node: "nobody"}), true},
		{"a name without an end", noNUL, true},
		{"ID 0", connect(ibsim.Connect{}), true},
		{"a huge ID", connect(ibsim.Connect{ID: 1<<32 - 1}), true},
		{"an ID without a socket", connect(ibsim.Connect{ID: 4711}), true},
		{"another's ID", connect(ibsim.Connect{ID: good.id}), true},
		{"another's end", message(number, ibsim.TypeDisconnect, nil), true},
		{"another's bit", message(number, ibsim.TypeIsSM, ibsim.IsSM(true)), true},
		{"another's port", message(number, ibsim.TypePort, nil), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bad.t, good.t = t, t
			bad.say(test.message)
			if test.answered {
				if answer := bad.hear(); answer.Type != ibsim.TypeError {
					t.Errorf("answered with %v", answer.Type)
				}
			}
			good.works(number)
			if s.server.Clients() != 1 {
				t.Errorf("%d clients are attached, want 1", s.server.Clients())
			}
		})
	}
	bad.t, good.t = t, t
	bad.works(bad.attach(""))
}

// TestAttachTwice: a client that attaches again gives up its first place; a
// second subnet manager at one port is refused.
func TestAttachTwice(t *testing.T) {
	s := serve(t, generate(t, "single:hosts=3"), emu.Config{})
	r := newRaw(t, s.name, 1001)
	first, second := r.attach("host-1"), r.attach("host-2")
	if s.server.Clients() != 1 {
		t.Errorf("%d clients are attached after %d and %d", s.server.Clients(), first, second)
	}
	r.works(second)
	if _, ok := r.connect(ibsim.Connect{Node: "host-1", IsSM: true}); !ok {
		t.Error("refused as a subnet manager")
	}
	other := newRaw(t, s.name, 1002)
	if _, ok := other.connect(ibsim.Connect{Node: "host-1", IsSM: true}); ok {
		t.Error("two subnet managers at one port")
	}
	if other.attach("host-1"); s.server.Clients() != 2 {
		t.Errorf("%d clients are attached, want 2", s.server.Clients())
	}
}

// TestDeafClients: clients that never read what they get stop nobody else.
func TestDeafClients(t *testing.T) {
	s := serve(t, generate(t, "single:hosts=3"), emu.Config{})
	good, bad := newRaw(t, s.name, 1001), newRaw(t, s.name, 1002)
	number, deaf := good.attach(""), bad.attach("")
	for tid := range uint64(3000) {
		bad.post(tid)
	}
	good.works(number)
	question := ibsim.NewControl(deaf, ibsim.TypePort, nil).AppendTo(nil)
	for range 50 {
		bad.say(question)
	}
	good.works(number)
}

// TestHostileData: packets of any size and from anybody change nothing.
func TestHostileData(t *testing.T) {
	s := serve(t, generate(t, "single:hosts=3"), emu.Config{})
	good, bad := newRaw(t, s.name, 1001), newRaw(t, s.name, 1002)
	if _, err := bad.data.WriteTo(make([]byte, ibsim.PacketSize), good.names.Out(1)); err == nil {
		t.Error("there is a socket for a client that has not attached")
	}
	number := good.attach("")
	for _, size := range []int{0, 1, ibsim.PacketSize - 1, ibsim.PacketSize + 1, 60000} {
		if _, err := good.data.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		good.works(number)
	}
	if _, err := bad.data.WriteTo(make([]byte, ibsim.PacketSize), good.names.Out(number)); err == nil {
		t.Error("another client's packet is taken")
	}
	good.works(number)
}
