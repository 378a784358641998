package umad_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// portsVariable names the ports of the kernel that the tests of this file run
// on, two or one that talks to itself: "umad:mlx5_0/1 umad:mlx5_1/1". Without
// it they run in a virtual machine, on a pair of ports made of software.
const portsVariable = "HEDDLE_UMAD"

// noPorts is its value at the end of the virtual machine.
const noPorts = "none"

type kernelTest struct {
	name string
	run  func(t *testing.T, near, far string)
}

// kernelTests are the tests that need ports of the kernel, and unloadedTests
// those of a kernel without the module.
var (
	unloadedTests = []kernelTest{{"module missing", testModuleMissing}}
	kernelTests   = []kernelTest{
		{"contract", testKernelContract},
		{"port", testKernelPort},
		{"timeout", testKernelTimeout},
		{"RMPP", testKernelRMPP},
		{"registration", testKernelRegistration},
		{"SMI", testKernelSMI},
		{"IsSM", testKernelIsSM},
		{"permission", testKernelPermission},
	}
)

func TestKernel(t *testing.T) {
	ports := strings.Fields(os.Getenv(portsVariable))
	if len(ports) == 0 {
		inVM(t)
		return
	}
	tests := kernelTests
	if ports[0] == noPorts {
		tests = unloadedTests
	}
	for _, test := range tests {
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
kernel() { ` + portsVariable + `=$1 ` + filepath.Base(program) + ` -test.run '^TestKernel$' -test.v; }
kernel "umad:rxe0/1 umad:rxe1/1"
rmmod ib_umad
kernel ` + noPorts,
	}.Run(t)
	t.Log(output)
	for _, test := range append(unloadedTests, kernelTests...) {
		if !strings.Contains(output, "--- PASS: TestKernel/"+strings.ReplaceAll(test.name, " ", "_")) {
			t.Errorf("%s did not pass in the virtual machine", test.name)
		}
	}
}

// testModuleMissing is case S5 in a virtual machine whose RDMA devices have lost
// ib_umad.
func testModuleMissing(t *testing.T, _, _ string) {
	_, err := umad.Open("umad:rxe0/1")
	if !errors.Is(err, umad.ErrNoDevice) || !strings.Contains(err.Error(), "modprobe ib_umad") {
		t.Errorf("without the module: %v", err)
	}
}

// testAgent is of a vendor class that nobody uses, with the OUI of no vendor.
var testAgent = umad.Agent{Class: 0x32, Version: 1, OUI: 0x00ABCD, RMPP: true}

// vendorHeaderLen is the length of the headers before the data of testAgent's
// class.
const vendorHeaderLen = 40

// serving is testAgent with methods to serve.
func serving(methods ...mad.Method) umad.Agent {
	a := testAgent
	a.Methods = methods
	return a
}

// openPort opens a port for one test and registers agents.
func openPort(t *testing.T, spec string, agents ...umad.Agent) umad.Device {
	t.Helper()
	d, err := umad.Open(spec)
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

// gidOf is the address of the general services of a port: by GID, as the
// ports may be of Ethernet.
func gidOf(t *testing.T, d umad.Device) umad.Address {
	t.Helper()
	info, err := d.Info()
	if err != nil {
		t.Fatal(err)
	}
	to := umad.ToLID(info.LID)
	to.GRH = &umad.GRH{GID: info.GID(), HopLimit: 1}
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

// longMessage is a message by RMPP.
func longMessage(method mad.Method, tid uint64, data []byte) []byte {
	b := testDatagram(method, tid, data)[:vendorHeaderLen+len(data)]
	b[26] = 1 // Active, the flag of RMPP
	return b
}

// testData is n bytes that do not repeat soon.
func testData(n int) []byte {
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(i * 7 / 3)
	}
	return data
}

func mustSend(t *testing.T, d umad.Device, m *umad.Message, timeout time.Duration) {
	t.Helper()
	if err := d.Send(m, timeout); err != nil {
		t.Fatal(err)
	}
}

// mustReceive receives, but does not wait for ever.
func mustReceive(t *testing.T, d umad.Device) *umad.Message {
	t.Helper()
	var m umad.Message
	result := make(chan error, 1)
	go func() { result <- d.Receive(&m) }()
	select {
	case err := <-result:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing received: ", errors.Join(d.Close(), <-result))
	}
	return &m
}

// testKernelContract is the contract of all devices, in a class with RMPP.
func testKernelContract(t *testing.T, nearSpec, farSpec string) {
	other := serving(mad.MethodGet)
	other.Class++
	umadtest.Run(t, func(t *testing.T) umadtest.Conn {
		near, far := openPort(t, nearSpec), openPort(t, farSpec)
		return umadtest.Conn{
			Device: near, Peer: far, ToPeer: gidOf(t, far), ToDevice: gidOf(t, near),
			Agent: serving(mad.MethodGet), Other: other,
		}
	})
}

// testKernelPort has one Port ask another for a table, which is many segments
// of RMPP, for an attribute that it refuses, and with a method that nobody has.
func testKernelPort(t *testing.T, nearSpec, farSpec string) {
	nearDevice, farDevice := openPort(t, nearSpec), openPort(t, farSpec)
	to := gidOf(t, farDevice)
	near, far := umad.NewPort(nearDevice), umad.NewPort(farDevice)
	defer near.Close()
	defer far.Close()
	table := testData(5000)
	err := far.Handle(serving(mad.MethodGetTable, mad.MethodGet), func(m *umad.Message) {
		status := mad.StatusBadAttribute
		if mad.Method(m.Data[3]) == mad.MethodGetTable {
			m.Data = longMessage(mad.MethodGetTable, m.Datagram().TID(), table)
			status = mad.StatusOK
		}
		if err := errors.Join(m.Reply(status), far.Send(m)); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method mad.Method) *umad.Message {
		t.Helper()
		answer, err := near.Call(t.Context(), &umad.Message{Address: to, Data: testDatagram(method, 0, nil)}, umad.CallOptions{Timeout: 5 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		return answer
	}
	for range 3 {
		if got := ask(mad.MethodGetTable).Data[vendorHeaderLen:]; !bytes.Equal(got, table) {
			t.Errorf("table of %d bytes, %d arrived: %x", len(table), len(got), got)
		}
	}
	if got := ask(mad.MethodGet).Datagram().Status(); got != mad.StatusBadAttribute {
		t.Errorf("refused with status %v", got)
	}
}

// testKernelTimeout has a Port ask who does not answer: the kernel returns the
// request, and the Port sends it again.
func testKernelTimeout(t *testing.T, nearSpec, farSpec string) {
	far := openPort(t, farSpec, serving(mad.MethodGet))
	near := umad.NewPort(openPort(t, nearSpec))
	defer near.Close()
	start := time.Now()
	options := umad.CallOptions{Timeout: 50 * time.Millisecond, Retries: 2}
	answer, err := near.Call(t.Context(), &umad.Message{Address: gidOf(t, far), Data: testDatagram(mad.MethodGet, 0, nil)}, options)
	if !errors.Is(err, umad.ErrTimeout) {
		t.Errorf("answer %v, %v", answer, err)
	}
	if took := time.Since(start); took < 3*options.Timeout {
		t.Errorf("three tries took %v", took)
	}
	for range 3 {
		mustReceive(t, far)
	}
}

func testKernelRMPP(t *testing.T, nearSpec, farSpec string) {
	near, far := openPort(t, nearSpec, testAgent), openPort(t, farSpec, serving(mad.MethodSend))
	to := gidOf(t, far)
	for _, size := range []int{1, 216, 217, 100_000, 3} {
		whole := longMessage(mad.MethodSend, uint64(size), testData(size))
		mustSend(t, near, &umad.Message{Address: to, Data: whole}, 0)
		got := mustReceive(t, far)
		if got.Err != nil || len(got.Data) != len(whole) || !bytes.Equal(got.Data[vendorHeaderLen:], whole[vendorHeaderLen:]) {
			t.Errorf("of %d bytes %d arrived: %v %x", len(whole), len(got.Data), got.Err, got.Data[:vendorHeaderLen])
		}
		if got.QPN != ib.GSIQPN || got.QKey != ib.GSIQKey {
			t.Errorf("received from %+v", got.Address)
		}
	}
}

func testKernelRegistration(t *testing.T, spec, _ string) {
	d, other := openPort(t, spec, serving(mad.MethodGet)), openPort(t, spec)
	if err := other.Register(serving(mad.MethodGet)); !errors.Is(err, umad.ErrClassTaken) {
		t.Errorf("the class and method of another: %v", err)
	}
	if err := other.Register(testAgent); err != nil {
		t.Errorf("the class without methods: %v", err)
	}
	err := other.Send(&umad.Message{Address: gidOf(t, d), Data: make([]byte, mad.Size)}, 0)
	if err == nil || !strings.Contains(err.Error(), "not registered") {
		t.Errorf("send in a class that is not registered: %v", err)
	}
	if err := other.Register(umad.Agent{Class: testAgent.Class}); err == nil || errors.Is(err, umad.ErrClassTaken) {
		t.Errorf("register without an OUI: %v", err)
	}
}

// testKernelSMI is case S5: on Ethernet there is no subnet management, and the
// error says so.
func testKernelSMI(t *testing.T, spec, _ string) {
	d := openPort(t, spec)
	for _, class := range []mad.Class{mad.ClassDirected, mad.ClassLID} {
		err := d.Register(umad.Agent{Class: class, Version: 1, Methods: []mad.Method{mad.MethodGet}})
		if isEthernet(t, spec) {
			if !errors.Is(err, umad.ErrClassUnsupported) || !errors.Is(err, umad.ErrNotInfiniBand) || !strings.Contains(err.Error(), spec) {
				t.Errorf("register %v: %v", class, err)
			}
		} else if err != nil && !errors.Is(err, umad.ErrClassTaken) {
			t.Errorf("register %v: %v", class, err)
		}
	}
	if !isEthernet(t, spec) {
		return
	}
	if err := umad.KernelRefusal(d, umad.Agent{Class: mad.ClassDirected, Version: 1}); !errors.Is(err, umad.ErrClassUnsupported) {
		t.Errorf("the kernel's own refusal: %v", err)
	}
	_, err := umad.Open("umad:")
	if !errors.Is(err, umad.ErrNotInfiniBand) || !strings.Contains(err.Error(), "rxe0/1 (Ethernet, Active)") {
		t.Errorf("the choice among ports of Ethernet: %v", err)
	}
	if _, err := umad.Open("umad:mlx9_0/1"); !errors.Is(err, umad.ErrNoDevice) {
		t.Errorf("a port that is not there: %v", err)
	}
}

func isEthernet(t *testing.T, spec string) bool {
	t.Helper()
	ports, err := umad.ListDevices()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(ports, func(p umad.LinuxPort) bool { return "umad:"+p.Name == spec })
	if i < 0 || ports[i].Fault != nil {
		t.Fatalf("ListDevices: no %s in %+v", spec, ports)
	}
	return !ports[i].IsInfiniBand()
}

func testKernelIsSM(t *testing.T, spec, _ string) {
	d, other := openPort(t, spec), openPort(t, spec)
	if isEthernet(t, spec) {
		if err := d.SetIsSM(true); !errors.Is(err, umad.ErrNotInfiniBand) {
			t.Errorf("IsSM of a port of Ethernet: %v", err)
		}
		// The kernel's lock is there all the same.
		umad.CallInfiniBand(d)
		umad.CallInfiniBand(other)
	}
	if err := errors.Join(d.SetIsSM(true), d.SetIsSM(true)); err != nil {
		t.Fatal(err)
	}
	if err := other.SetIsSM(true); !errors.Is(err, umad.ErrBusy) {
		t.Errorf("IsSM of two at once: %v", err)
	}
	if err := errors.Join(d.SetIsSM(false), d.SetIsSM(false), other.SetIsSM(true)); err != nil {
		t.Error(err)
	}
}

func testKernelPermission(t *testing.T, spec, _ string) {
	const nobody = 65534
	if err := syscall.Setreuid(-1, nobody); err != nil {
		t.Fatal(err)
	}
	_, err := umad.Open(spec)
	if err := syscall.Setreuid(-1, 0); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), spec) {
		t.Errorf("open as nobody: %v", err)
	}
}
