package umad_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
)

// simNet is two adapters at a switch; the switch's last port is not connected.
const simNet = `Switch	4 "S-0000000000200000"	# "the switch"
[1]	"H-0000000000100000"[1]
[2]	"H-0000000000100010"[1]

Ca	2 "H-0000000000100000"	# "host one"
[1](100001)	"S-0000000000200000"[1]

Ca	2 "H-0000000000100010"	# "host two"
[1](100011)	"S-0000000000200000"[2]
`

func startSim(t *testing.T, args ...string) *testenv.IBSim {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net")
	text := strings.NewReplacer(
		"Switch\t4 \"S", "switchguid=0x200000\nSwitch\t4 \"S",
		"Ca\t2 \"H-0000000000100000", "caguid=0x100000\nCa\t2 \"H-0000000000100000",
		"Ca\t2 \"H-0000000000100010", "caguid=0x100010\nCa\t2 \"H-0000000000100010",
	).Replace(simNet)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return testenv.StartIBSim(t, file, args...)
}

func attach(t *testing.T, spec string) umad.Device {
	t.Helper()
	d, err := umad.Open(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close %s: %v", spec, err)
		}
	})
	return d
}

func register(t *testing.T, d umad.Device, class mad.Class, methods ...mad.Method) {
	t.Helper()
	version := uint8(1)
	if class == mad.ClassSA {
		version = 2
	}
	if err := d.Register(umad.Agent{Class: class, Version: version, Methods: methods}); err != nil {
		t.Fatal(err)
	}
}

// routed is a directed-route request.
func routed(t *testing.T, h mad.Header, path ...uint8) *umad.Message {
	t.Helper()
	var d mad.Datagram
	h.Class, h.ClassVersion = mad.ClassDirected, 1
	if h.Method == 0 {
		h.Method = mad.MethodGet
	}
	d.SetHeader(h)
	if err := d.SetPath(path); err != nil {
		t.Fatal(err)
	}
	return &umad.Message{Address: umad.ByRoute(), Data: d[:]}
}

func send(t *testing.T, d umad.Device, m *umad.Message) {
	t.Helper()
	if err := d.Send(m, time.Second); err != nil {
		t.Fatal(err)
	}
}

// receive fails the test rather than wait forever.
func receive(t *testing.T, d umad.Device) (*umad.Message, *mad.Datagram) {
	t.Helper()
	m, got := &umad.Message{}, make(chan error, 1)
	go func() { got <- d.Receive(m) }()
	select {
	case err := <-got:
		if err != nil {
			t.Fatal(err)
		}
		return m, (*mad.Datagram)(m.Data)
	case <-time.After(time.Minute):
		t.Fatal("nothing came")
		return nil, nil
	}
}

func TestIBSimDirectedRoute(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/H-0000000000100000")
	register(t, d, mad.ClassDirected)
	for _, test := range []struct {
		path []uint8
		guid ib.GUID
		typ  mad.NodeType
	}{
		{nil, 0x100000, mad.NodeCA},
		{[]uint8{1}, 0x200000, mad.NodeSwitch},
		{[]uint8{1, 2}, 0x100010, mad.NodeCA},
	} {
		send(t, d, routed(t, mad.Header{TID: 0x1234, Attr: mad.AttrNodeInfo}, test.path...))
		m, answer := receive(t, d)
		info, err := mad.ParseNodeInfo(answer.Data())
		if err != nil || m.Err != nil || m.LID != ib.PermissiveLID || m.QPN != 0 || m.QKey != 0 {
			t.Fatalf("path %v: %v, %v", test.path, m.Address, errors.Join(err, m.Err))
		}
		if info.NodeGUID != test.guid || info.NodeType != test.typ || uint32(answer.TID()) != 0x1234 {
			t.Errorf("path %v: %+v", test.path, info)
		}
	}
}

func TestIBSimInfo(t *testing.T) {
	sim := startSim(t)
	host := umad.Info{
		Device: "H-0000000000100010", Port: 1, NodeGUID: 0x100010, PortGUID: 0x100011, Prefix: 0xfe80 << 48,
		State: mad.PortInit, PKeys: []ib.PKey{0xffff},
	}
	for _, node := range []string{"H-0000000000100010", "host two", "0x100010", "0000000000100010"} {
		spec := "ibsim:" + sim.Name + "/" + node
		got, err := attach(t, spec).Info()
		if err != nil {
			t.Fatal(err)
		}
		want := host
		want.Name = "ibsim:" + sim.Name + "/H-0000000000100010"
		if want.QPN = got.QPN; got.QPN <= ib.GSIQPN {
			t.Errorf("%s: sends from queue pair %v, want its own", spec, got.QPN)
		}
		want.Capabilities, got.Capabilities = 0, got.Capabilities&uint32(mad.CapIsSM)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", spec, diff)
		}
	}
	t.Setenv("IBSIM_SOCKNAME", sim.Name)
	if got, err := attach(t, "ibsim:").Info(); err != nil || got.NodeGUID != 0x200000 || got.Port != 0 {
		t.Errorf("without a name: %+v, %v", got, err)
	}
}

func TestIBSimTimeout(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/host one")
	register(t, d, mad.ClassDirected)
	register(t, d, mad.ClassPerf)
	send(t, d, routed(t, mad.Header{TID: 5, Attr: mad.AttrNodeInfo}, 1, 4))
	m, back := receive(t, d)
	if !errors.Is(m.Err, umad.ErrTimeout) || m.LID != ib.PermissiveLID || back.Method() != mad.MethodGet || uint32(back.TID()) != 5 {
		t.Errorf("%v of %v: %v", m.Err, m.Address, back.Header())
	}
	var unknown mad.Datagram
	unknown.SetHeader(mad.Header{Class: mad.ClassPerf, ClassVersion: 1, Method: mad.MethodGet, TID: 6, Attr: mad.AttrPortCounters})
	send(t, d, &umad.Message{Address: umad.ToLID(77), Data: unknown[:]})
	m, back = receive(t, d)
	if !errors.Is(m.Err, umad.ErrTimeout) || m.Address != umad.ToLID(77) || uint32(back.TID()) != 6 {
		t.Errorf("%v of %v: %v", m.Err, m.Address, back.Header())
	}
}

// TestIBSimTwoClients has two clients at one node ask at once, and a third send
// to the queue pair of one of them, in a class that it registered and in one
// that it did not.
func TestIBSimTwoClients(t *testing.T) {
	sim := startSim(t)
	testenv.StartOpenSM(t, sim.Name, "host two").WaitSubnetUp(t)
	spec := "ibsim:" + sim.Name + "/host one"
	a, b, c := attach(t, spec), attach(t, spec), attach(t, spec)
	for _, d := range []umad.Device{a, b, c} {
		register(t, d, mad.ClassDirected)
	}
	send(t, a, routed(t, mad.Header{TID: 1, Attr: mad.AttrNodeInfo}, 1))
	send(t, b, routed(t, mad.Header{TID: 1, Attr: mad.AttrNodeInfo}, 1, 2))
	if _, answer := receive(t, a); answer.HopCount() != 1 {
		t.Errorf("a got %v", answer.Header())
	}
	if _, answer := receive(t, b); answer.HopCount() != 2 {
		t.Errorf("b got %v", answer.Header())
	}
	register(t, c, mad.ClassVendor)
	register(t, a, mad.ClassVendor, mad.MethodSend)
	to := addressOf(t, a)
	for _, class := range []mad.Class{mad.ClassSNMP, mad.ClassVendor} {
		send(t, c, letter(class, to))
	}
	if _, got := receive(t, a); got.Class() != mad.ClassVendor {
		t.Errorf("a got class %v", got.Class())
	}
}

// addressOf is the address that a device sends from.
func addressOf(t *testing.T, d umad.Device) umad.Address {
	t.Helper()
	info, err := d.Info()
	if err != nil || !info.LID.IsUnicast() {
		t.Fatalf("%+v, %v", info, err)
	}
	return umad.Address{LID: info.LID, QPN: info.QPN}
}

func letter(class mad.Class, to umad.Address) *umad.Message {
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: class, ClassVersion: 1, Method: mad.MethodSend, TID: 9})
	return &umad.Message{Address: to, Data: d[:]}
}

// TestIBSimTraps makes a switch send traps to itself, where a client is the
// subnet manager.
func TestIBSimTraps(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/the switch")
	register(t, d, mad.ClassDirected)
	register(t, d, mad.ClassLID, mad.MethodTrap)
	giveLID(t, d, 7)
	if err := d.SetIsSM(true); err != nil {
		t.Fatal(err)
	}
	if info, err := d.Info(); err != nil || info.Capabilities&uint32(mad.CapIsSM) == 0 {
		t.Errorf("capabilities %#x, %v", info.Capabilities, err)
	}
	sim.Console(t, `Unlink "S-0000000000200000"[2]`)
	for {
		m, trap := receive(t, d)
		notice, err := mad.ParseNotice(trap.Data())
		if err != nil || trap.Method() != mad.MethodTrap || m.LID != 7 {
			t.Fatalf("%v from %v, %v", trap.Header(), m.Address, err)
		}
		if notice.IsGeneric && notice.Trap == mad.TrapLinkState {
			break
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if info, err := attach(t, "ibsim:"+sim.Name+"/the switch").Info(); err != nil || info.Capabilities&uint32(mad.CapIsSM) != 0 {
		t.Errorf("capabilities %#x after Close, %v", info.Capabilities, err)
	}
}

// giveLID makes the own port one of a LID, and its own subnet manager's.
func giveLID(t *testing.T, d umad.Device, lid ib.LID) {
	t.Helper()
	send(t, d, routed(t, mad.Header{TID: 1, Attr: mad.AttrPortInfo}))
	_, answer := receive(t, d)
	port, err := mad.ParsePortInfo(answer.Data())
	if err != nil {
		t.Fatal(err)
	}
	port.LID, port.MasterSMLID, port.PortState, port.PortPhysicalState = lid, lid, 0, 0
	set := routed(t, mad.Header{TID: 2, Method: mad.MethodSet, Attr: mad.AttrPortInfo})
	port.AppendTo((*mad.Datagram)(set.Data).Data()[:0])
	send(t, d, set)
	if _, answer = receive(t, d); answer.Status() != mad.StatusOK {
		t.Fatalf("Set of PortInfo: %v", answer.Status())
	}
}

func TestIBSimNotThere(t *testing.T) {
	begin := time.Now()
	if d, err := umad.Open("ibsim:" + testenv.SocketName(t) + "/"); !errors.Is(err, umad.ErrNoDevice) || d != nil {
		t.Errorf("no server: %v, %v", d, err)
	}
	if d, err := umad.Open("ibsim+udp:127.0.0.1:9/"); !errors.Is(err, umad.ErrNoDevice) || d != nil {
		t.Errorf("no server over UDP: %v, %v", d, err)
	}
	if late := time.Since(begin); late > 4*time.Second {
		t.Errorf("it took %v to find nothing", late)
	}
}

func TestIBSimNoNode(t *testing.T) {
	sim := startSim(t)
	for _, node := range []string{"nobody", "0x4711"} {
		if _, err := umad.Open("ibsim:" + sim.Name + "/" + node); !errors.Is(err, umad.ErrNoDevice) || !strings.Contains(err.Error(), node) {
			t.Errorf("node %s: %v", node, err)
		}
	}
	if _, err := umad.Open("ibsim:" + sim.Name + "/" + strings.Repeat("n", 32)); err == nil || !strings.Contains(err.Error(), "at most 31") {
		t.Errorf("long name: %v", err)
	}
}

// TestIBSimPlaces takes and gives back more places than ibsim has, then takes
// all of them.
func TestIBSimPlaces(t *testing.T) {
	sim := startSim(t)
	spec := "ibsim:" + sim.Name + "/host one"
	const places = 10
	for range 2 * places {
		d, err := umad.Open(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range places {
		attach(t, spec)
	}
	if _, err := umad.Open(spec); !errors.Is(err, umad.ErrNoDevice) {
		t.Errorf("client %d: %v", places+1, err)
	}
}

func TestIBSimOverUDP(t *testing.T) {
	port := freePort(t)
	startSim(t, "-r", "-l", fmt.Sprint(port))
	spec := fmt.Sprintf("ibsim+udp:127.0.0.1:%d/host one", port)
	d := attach(t, spec)
	attach(t, spec)
	register(t, d, mad.ClassDirected)
	send(t, d, routed(t, mad.Header{TID: 1, Attr: mad.AttrNodeInfo}, 1, 2))
	m, answer := receive(t, d)
	if info, err := mad.ParseNodeInfo(answer.Data()); err != nil || m.Err != nil || info.NodeGUID != 0x100010 {
		t.Errorf("%+v, %v, %v", info, err, m.Err)
	}
}

// freePort finds a UDP port whose followers are likely free too.
func freePort(t *testing.T) int {
	t.Helper()
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close() //nolint:errcheck // its port is what was wanted
	return min(conn.LocalAddr().(*net.UDPAddr).Port, 65535-20)
}

func TestIBSimServerGone(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/host one")
	sim.Stop()
	if err := d.Send(routed(t, mad.Header{Attr: mad.AttrNodeInfo}), time.Second); !errors.Is(err, umad.ErrNoDevice) {
		t.Errorf("send: %v", err)
	}
	if _, err := d.Info(); !errors.Is(err, umad.ErrNoDevice) {
		t.Errorf("info: %v", err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := d.Send(routed(t, mad.Header{}), 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("send after close: %v", err)
	}
	if _, err := d.Info(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("info after close: %v", err)
	}
	if err := d.Receive(&umad.Message{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("receive after close: %v", err)
	}
}

// TestIBSimSlowReader asks far more than a socket holds before it reads.
func TestIBSimSlowReader(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/host one")
	register(t, d, mad.ClassDirected)
	const questions = 3000
	for tid := range uint64(questions) {
		send(t, d, routed(t, mad.Header{TID: tid, Attr: mad.AttrNodeInfo}, 1))
	}
	for tid := range uint32(questions) {
		if _, answer := receive(t, d); uint32(answer.TID()) != tid {
			t.Fatalf("answer to %d, want %d", answer.TID(), tid)
		}
	}
}

func TestIBSimRefusesOtherSizes(t *testing.T) {
	sim := startSim(t)
	d := attach(t, "ibsim:"+sim.Name+"/")
	for _, n := range []int{0, mad.Size - 1, mad.Size + 1} {
		if err := d.Send(&umad.Message{Data: make([]byte, n)}, 0); err == nil {
			t.Errorf("a datagram of %d bytes is sent", n)
		}
	}
	if d.Features() != (umad.Features{Deaf: true}) {
		t.Errorf("features %+v", d.Features())
	}
}

func TestOpenRefusesSpecs(t *testing.T) {
	for _, spec := range []string{"", "ib", "mthca0/1", "ibsim+udp:/x", "ibsim:a\x00b/"} {
		if d, err := umad.Open(spec); err == nil || d != nil {
			t.Errorf("%q: %v, %v", spec, d, err)
		}
	}
}
