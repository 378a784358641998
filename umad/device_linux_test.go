package umad

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
)

// portsVariable names the ports of the kernel that the tests of this file run
// on, two or one that talks to itself: "umad:mlx5_0/1 umad:mlx5_1/1". Without
// it they run in a virtual machine, on a pair of ports made of software.
const portsVariable = "HEDDLE_UMAD"

// kernelTests are the tests that need ports of the kernel.
var kernelTests = []struct {
	name string
	run  func(t *testing.T, near, far string)
}{
	{"exchange", testExchange},
	{"timeout", testTimeout},
	{"RMPP", testKernelRMPP},
	{"registration", testRegistration},
	{"SMI", testSMI},
	{"IsSM", testIsSM},
	{"permission", testPermission},
	{"close", testClose},
}

func TestKernelPorts(t *testing.T) {
	ports := strings.Fields(os.Getenv(portsVariable))
	if len(ports) == 0 {
		inVM(t)
		return
	}
	for _, test := range kernelTests {
		t.Run(test.name, func(t *testing.T) { test.run(t, ports[0], ports[len(ports)-1]) })
	}
}

// inVM runs the kernel's tests of this very program in a virtual machine with
// two RoCE ports of software that are wired to each other.
func inVM(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	output := testenv.VM{
		Modules:  []string{"crc32_generic", "veth", "rdma_rxe", "ib_umad"},
		Programs: []string{program, "ip", "rdma"},
		// Without duplicate address detection, addresses are usable at once.
		Script: `
for i in all default; do echo 0 >/proc/sys/net/ipv6/conf/$i/accept_dad; done
ip link add d0 type veth peer name d1
ip link set d0 up
ip link set d1 up
rdma link add rxe0 type rxe netdev d0
rdma link add rxe1 type rxe netdev d1
` + portsVariable + `="umad:rxe0/1 umad:rxe1/1" ` + filepath.Base(program) + ` -test.run '^TestKernelPorts$' -test.v`,
	}.Run(t)
	t.Log(output)
	for _, test := range kernelTests {
		if !strings.Contains(output, "--- PASS: TestKernelPorts/"+test.name) {
			t.Errorf("%s did not run in the virtual machine", test.name)
		}
	}
}

// testAgent is of a vendor class that nobody uses, with the OUI of no vendor.
var testAgent = Agent{Class: 0x32, Version: 1, OUI: 0x00ABCD, RMPP: true}

// openPort opens a port for one test and registers agents.
func openPort(t *testing.T, spec string, agents ...Agent) Device {
	t.Helper()
	d, err := OpenLinux(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, a := range agents {
		if err := d.Register(a); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

// openPair opens two ports: the far one answers requests of the test's class.
func openPair(t *testing.T, nearSpec, farSpec string) (near, far Device) {
	t.Helper()
	server := testAgent
	server.Methods = []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodSend}
	return openPort(t, nearSpec, testAgent), openPort(t, farSpec, server)
}

// addressOf is the address of the general services of a port: by GID, as the
// ports may be of Ethernet.
func addressOf(t *testing.T, d Device) Address {
	t.Helper()
	info, err := d.Info()
	if err != nil {
		t.Fatal(err)
	}
	to := ToLID(info.LID)
	to.GRH = &GRH{GID: info.GID(), HopLimit: 1}
	return to
}

// testDatagram is a message of the test's class with data after the headers.
func testDatagram(method mad.Method, tid uint64, data []byte) []byte {
	b := mad.Header{
		Class: testAgent.Class, ClassVersion: testAgent.Version, Method: method, TID: tid, Attr: 0x0077,
	}.AppendTo(nil)
	b = append(b, make([]byte, vendorHeaderLen-len(b))...)
	binary.BigEndian.PutUint32(b[36:], testAgent.OUI)
	b = append(b, data...)
	return append(b, make([]byte, max(0, mad.Size-len(b)))...)
}

func send(t *testing.T, d Device, m *Message, timeout time.Duration) {
	t.Helper()
	if err := d.Send(m, timeout); err != nil {
		t.Fatal(err)
	}
}

// receive receives, but does not wait for ever.
func receive(t *testing.T, d Device) *Message {
	t.Helper()
	var m Message
	result := make(chan error, 1)
	go func() { result <- d.Receive(&m) }()
	select {
	case err := <-result:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		_ = d.Close()
		t.Fatal("nothing received: ", <-result)
	}
	return &m
}

func testExchange(t *testing.T, nearSpec, farSpec string) {
	near, far := openPair(t, nearSpec, farSpec)
	const tid = 0x1234_5678
	question := testDatagram(mad.MethodGet, tid, []byte("question"))
	send(t, near, &Message{Address: addressOf(t, far), Data: question}, 10*time.Second)

	got := receive(t, far)
	tidGot := binary.BigEndian.Uint64(got.Data[8:])
	if uint32(tidGot) != tid || !bytes.Equal(got.Data[16:], question[16:]) || got.Err != nil {
		t.Errorf("far received %v %x", got.Err, got.Data)
	}
	if got.QPN != ib.GSIQPN || got.QKey != ib.GSIQKey || got.GRH == nil || got.GRH.GID != addressOf(t, near).GRH.GID {
		t.Errorf("far received from %+v %+v", got.Address, got.GRH)
	}
	send(t, far, &Message{Address: got.Address, Data: testDatagram(mad.MethodGetResp, tidGot, []byte("answer"))}, 0)

	answer := receive(t, near)
	if answer.Err != nil || !bytes.HasPrefix(answer.Data[vendorHeaderLen:], []byte("answer")) || len(answer.Data) != mad.Size {
		t.Errorf("near received %v %x", answer.Err, answer.Data)
	}
}

func testTimeout(t *testing.T, nearSpec, farSpec string) {
	near, far := openPair(t, nearSpec, farSpec)
	const tid = 77
	start := time.Now()
	send(t, near, &Message{Address: addressOf(t, far), Data: testDatagram(mad.MethodGet, tid, nil)}, 50*time.Millisecond)
	m := receive(t, near)
	if took := time.Since(start); took < 50*time.Millisecond {
		t.Errorf("came back after %v", took)
	}
	head, err := mad.ParseHeader(m.Data)
	if err != nil || !errors.Is(m.Err, ErrTimeout) || uint32(head.TID) != tid || head.Method != mad.MethodGet || len(m.Data) != mad.Size {
		t.Errorf("came back: %v, %v, %+v of %d bytes", m.Err, err, head, len(m.Data))
	}
}

func testKernelRMPP(t *testing.T, nearSpec, farSpec string) {
	near, far := openPair(t, nearSpec, farSpec)
	for _, size := range []int{1, 216, 217, 100_000} {
		data := make([]byte, size)
		for i := range data {
			data[i] = byte(i * 7 / 3)
		}
		whole := testDatagram(mad.MethodSend, uint64(size), data)[:vendorHeaderLen+size]
		whole[rmppFlagsByte] = rmppActive
		send(t, near, &Message{Address: addressOf(t, far), Data: whole}, 0)
		got := receive(t, far)
		if got.Err != nil || len(got.Data) != len(whole) || !bytes.Equal(got.Data[vendorHeaderLen:], data) {
			t.Errorf("of %d bytes %d arrived: %v %x", len(whole), len(got.Data), got.Err, got.Data[:vendorHeaderLen])
		}
	}
}

func testRegistration(t *testing.T, spec, _ string) {
	server := testAgent
	server.Methods = []mad.Method{mad.MethodGet}
	d := openPort(t, spec, server)
	if err := d.Register(server); !errors.Is(err, ErrClassTaken) {
		t.Errorf("the same method once more: %v", err)
	}
	server.Methods = []mad.Method{mad.MethodSet}
	if err := errors.Join(d.Register(server), d.Register(testAgent)); err != nil {
		t.Errorf("the same class with another method, and with none: %v", err)
	}
	other := openPort(t, spec)
	if err := other.Register(server); !errors.Is(err, ErrClassTaken) {
		t.Errorf("the class and method of another: %v", err)
	}
	if err := other.Register(testAgent); err != nil {
		t.Errorf("the class without methods: %v", err)
	}
	err := other.Send(&Message{Address: addressOf(t, d), Data: make([]byte, mad.Size)}, 0)
	if err == nil || !strings.Contains(err.Error(), "not registered") {
		t.Errorf("send in a class that is not registered: %v", err)
	}
}

// testSMI is case S5: on Ethernet there is no subnet management, and the error
// says so.
func testSMI(t *testing.T, spec, _ string) {
	d := openPort(t, spec)
	for _, class := range []mad.Class{mad.ClassDirected, mad.ClassLID} {
		err := d.Register(Agent{Class: class, Version: 1, Methods: []mad.Method{mad.MethodGet}})
		if isEthernet(t, spec) {
			if !errors.Is(err, ErrClassUnsupported) || !errors.Is(err, ErrNotInfiniBand) || !strings.Contains(err.Error(), spec) {
				t.Errorf("register %v: %v", class, err)
			}
		} else if err != nil && !errors.Is(err, ErrClassTaken) {
			t.Errorf("register %v: %v", class, err)
		}
	}
	if !isEthernet(t, spec) {
		return
	}
	_, err := OpenLinux(linuxScheme)
	if !errors.Is(err, ErrNotInfiniBand) {
		t.Errorf("the choice among ports of Ethernet: %v", err)
	}
	t.Log(err)
	request := Agent{Class: mad.ClassDirected, Version: 1}.registration()
	kernels := d.(*linuxDevice).ioctl(ioctlRegister, request)
	if err := registerError(LinuxPort{}, kernels); !errors.Is(err, ErrClassUnsupported) {
		t.Errorf("the kernel's own refusal: %v", err)
	}
}

func isEthernet(t *testing.T, spec string) bool {
	t.Helper()
	name, err := parsePortName(spec)
	if err != nil {
		t.Fatal(err)
	}
	ports, err := ListDevices()
	if err != nil {
		t.Fatal(err)
	}
	mine := matching(ports, name)
	if len(mine) == 0 || mine[0].Fault != nil {
		t.Fatalf("ListDevices: no %s in %+v", spec, ports)
	}
	return !mine[0].IsInfiniBand()
}

func testIsSM(t *testing.T, spec, _ string) {
	d := openPort(t, spec).(*linuxDevice)
	if isEthernet(t, spec) {
		if err := d.SetIsSM(true); !errors.Is(err, ErrNotInfiniBand) {
			t.Errorf("IsSM of a port of Ethernet: %v", err)
		}
		// The kernel's lock is there all the same.
		d.port.LinkLayer = linkInfiniBand
	}
	if err := errors.Join(d.SetIsSM(true), d.SetIsSM(true)); err != nil {
		t.Fatal(err)
	}
	other := openPort(t, spec).(*linuxDevice)
	other.port.LinkLayer = linkInfiniBand
	if err := other.SetIsSM(true); !errors.Is(err, ErrBusy) {
		t.Errorf("IsSM of two at once: %v", err)
	}
	if err := errors.Join(d.SetIsSM(false), d.SetIsSM(false), other.SetIsSM(true)); err != nil {
		t.Error(err)
	}
}

func testPermission(t *testing.T, spec, _ string) {
	const nobody = 65534
	if err := syscall.Setreuid(-1, nobody); err != nil {
		t.Fatal(err)
	}
	_, err := OpenLinux(spec)
	if err := syscall.Setreuid(-1, 0); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), spec) {
		t.Errorf("open as nobody: %v", err)
	}
}

func testClose(t *testing.T, spec, _ string) {
	d := openPort(t, spec, testAgent)
	to := addressOf(t, d)
	started, result := make(chan bool), make(chan error, 1)
	go func() {
		started <- true
		result <- d.Receive(new(Message))
	}()
	<-started
	if err := errors.Join(d.Close(), d.Close()); err != nil {
		t.Error(err)
	}
	if err := <-result; !errors.Is(err, net.ErrClosed) {
		t.Errorf("Receive after Close: %v", err)
	}
	if err := d.Send(&Message{Address: to, Data: testDatagram(mad.MethodSend, 1, nil)}, 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Send after Close: %v", err)
	}
}
