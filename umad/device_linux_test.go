package umad

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/mad"
)

// TestOpenLinuxFails opens what is no umad device, though sysfs says so.
func TestOpenLinuxFails(t *testing.T) {
	dev := t.TempDir()
	if err := os.WriteFile(filepath.Join(dev, "umad1"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(dev, "umad2"), 0o600); err != nil {
		t.Fatal(err)
	}
	sys := sysTree{}.port(0, "a", 1, hca).port(1, "b", 1, hca).port(2, "c", 1, hca).fs()
	tests := []struct {
		name, spec string
		err        error
		text       string
	}{
		{"no file", "umad:a/1", ErrNoDevice, "umad:a/1: no such device"},
		{"plain file", "umad:b/1", os.ErrNoDeadline, "umad:b/1"},
		{"pipe", "umad:c/1", unix.ENOTTY, "umad:c/1"},
		{"no port", "umad:d/1", ErrNoDevice, "umad:d/1"},
		{"no spec", "a/1", nil, "umad:"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			d, err := openLinux(sys, dev, test.spec)
			if err == nil {
				t.Fatalf("openLinux = %v", d)
			}
			if test.err != nil && !errors.Is(err, test.err) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want %v and %q", err, test.err, test.text)
			}
		})
	}
	if _, err := openLinux(sysTree{}.fs(), dev, "umad:"); !errors.Is(err, ErrNoDevice) {
		t.Errorf("without RDMA: %v", err)
	}
}

func TestLinuxErrors(t *testing.T) {
	hca := LinuxPort{LinkLayer: linkInfiniBand}
	plane := LinuxPort{LinkLayer: linkInfiniBand, Info: Info{Capabilities: capIsSMDisabled}}
	byGID := &Message{Address: Address{GRH: &GRH{GID: ib.MustParseGID("fe80::7")}}}
	device := &linuxDevice{port: LinuxPort{Info: Info{Name: "mlx5_0/1"}}}
	tests := []struct {
		name string
		got  error
		want error
		text string
	}{
		{"open without permission", withAdvice(unix.EACCES), fs.ErrPermission, "root"},
		{"open without file", withAdvice(unix.ENOENT), ErrNoDevice, "udev"},
		{"open otherwise", withAdvice(unix.EMFILE), unix.EMFILE, ""},
		{"class taken", registerError(hca, unix.EINVAL), ErrClassTaken, "subnet manager"},
		{"class unsupported", registerError(hca, unix.EPROTONOSUPPORT), ErrClassUnsupported, ""},
		{"class of a plane", registerError(plane, unix.EPROTONOSUPPORT), ErrClassUnsupported, "disabled"},
		{"too many agents", registerError(hca, unix.ENOMEM), unix.ENOMEM, "32"},
		{"no way to a GID", sendError(byGID, unix.ETIMEDOUT), unix.ETIMEDOUT, "fe80::7"},
		{"ID in use", sendError(new(Message), unix.EINVAL), unix.EINVAL, "transaction ID"},
		{"other than a GID", sendError(new(Message), unix.EHOSTUNREACH), unix.EHOSTUNREACH, ""},
		{"device gone", device.named(unix.EIO), ErrNoDevice, "umad:mlx5_0/1"},
		{"closed", device.named(net.ErrClosed), net.ErrClosed, ""},
		{"timeout", statusError(uint32(unix.ETIMEDOUT)), ErrTimeout, ""},
		{"other status", statusError(uint32(unix.ECANCELED)), unix.ECANCELED, "not sent"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if !errors.Is(test.got, test.want) || !strings.Contains(test.got.Error(), test.text) {
				t.Errorf("error %v, want %v and %q", test.got, test.want, test.text)
			}
		})
	}
}

// fakeKernel is a device whose kernel is the other end of a socket that keeps
// the bounds of messages, and the agents of which need no ioctl.
func fakeKernel(t *testing.T, agents map[agentKey]*classAgents) (d *linuxDevice, kernel *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	d = &linuxDevice{
		port:   LinuxPort{LinkLayer: linkInfiniBand, Info: Info{Name: "mlx5_0/1"}},
		file:   os.NewFile(uintptr(fds[0]), "umad0"),
		in:     make([]byte, frameLen+mad.Size),
		agents: agents,
	}
	kernel = os.NewFile(uintptr(fds[1]), "kernel")
	t.Cleanup(func() {
		if err := errors.Join(d.Close(), kernel.Close()); err != nil {
			t.Error(err)
		}
	})
	return d, kernel
}

func TestLinuxSend(t *testing.T) {
	vendor := agentKey{0x32, 0x1405}
	agents := map[agentKey]*classAgents{{class: mad.ClassSA}: newClassAgents(3), vendor: newClassAgents(5)}
	agents[vendor].add(Agent{Methods: []mad.Method{mad.MethodGetTable}}, 8)
	d, kernel := fakeKernel(t, agents)
	message := func(class mad.Class, method mad.Method, size int) *Message {
		b := make([]byte, size)
		mad.Header{Class: class, Method: method}.AppendTo(b[:0])
		b[38], b[39] = 0x14, 0x05
		return &Message{Address: ToLID(7), Data: b}
	}
	tests := []struct {
		name    string
		m       *Message
		timeout time.Duration
		want    frame
		active  byte // the flags of the RMPP header
	}{
		{"request", message(mad.ClassSA, mad.MethodGet, 256), time.Second, frame{agent: 3, timeout: 1000}, 0},
		{"answer", message(0x32, mad.MethodGetResp, 256), 0, frame{agent: 5}, 0},
		{"long answer", message(0x32, mad.MethodGetTableResp, 2000), 0, frame{agent: 8}, 1},
		{"long request", message(0x32, mad.MethodGetTable, 257), 1, frame{agent: 5, timeout: 1}, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := d.Send(test.m, test.timeout); err != nil {
				t.Fatal(err)
			}
			b := make([]byte, 4096)
			n, err := kernel.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			test.want.addr = test.m.Address
			if diff := cmp.Diff(test.want, mustParse(t, b[:n]), cmp.AllowUnexported(frame{})); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
			want := append([]byte(nil), test.m.Data...)
			want[rmppFlagsByte] = test.active
			if diff := cmp.Diff(want, b[frameLen:n]); diff != "" {
				t.Errorf("datagram (-want +got):\n%s", diff)
			}
		})
	}
	for name, m := range map[string]*Message{
		"short":       {Data: message(mad.ClassSA, mad.MethodGet, 256).Data[:vendorHeaderLen-1]},
		"of no class": message(mad.ClassCM, mad.MethodGet, 256),
	} {
		if err := d.Send(m, 0); err == nil || !strings.Contains(err.Error(), "umad:mlx5_0/1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	d.port.LinkLayer = "Ethernet"
	if err := d.Send(message(mad.ClassSA, mad.MethodGet, 256), 0); !errors.Is(err, ErrNotInfiniBand) {
		t.Errorf("to a LID over Ethernet: %v", err)
	}
}

func TestLinuxReceive(t *testing.T) {
	d, kernel := fakeKernel(t, nil)
	write := func(f frame, class mad.Class, size int) {
		t.Helper()
		b := f.appendTo(nil)
		b = append(b, mad.Header{Class: class, TID: 9}.AppendTo(nil)[:min(size, madHeaderLen)]...)
		b = append(b, make([]byte, size-min(size, madHeaderLen))...)
		if _, err := kernel.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	from := Address{LID: 4, QPN: 1}
	write(frame{addr: from}, mad.ClassSA, 23) // passed over
	write(frame{addr: from}, mad.ClassSA, 256)
	write(frame{addr: Address{LID: 4}}, mad.ClassLID, 256)
	write(frame{addr: from, status: uint32(unix.ETIMEDOUT)}, mad.ClassSA, 24)
	write(frame{addr: from}, mad.ClassSA, 100) // a short message by RMPP
	tests := []struct {
		name string
		qkey ib.QKey
		err  error
		size int
	}{
		{"general services", ib.GSIQKey, nil, 256},
		{"subnet management", 0, nil, 256},
		{"timeout", ib.GSIQKey, ErrTimeout, 256},
		{"short", ib.GSIQKey, nil, 100},
	}
	m := Message{Data: make([]byte, 0, mad.Size)}
	for _, test := range tests {
		m.Err = errors.New("of the one before")
		if err := d.Receive(&m); err != nil {
			t.Fatal(err)
		}
		if !errors.Is(m.Err, test.err) || m.QKey != test.qkey || len(m.Data) != test.size || m.LID != 4 || m.Data[15] != 9 {
			t.Errorf("%s: %+v", test.name, m)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Receive(&m); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Receive after Close: %v", err)
	}
	for name, err := range map[string]error{
		"Send": d.Send(&m, 0), "Register": d.Register(Agent{Class: mad.ClassSA}), "SetIsSM": d.SetIsSM(true),
	} {
		if !errors.Is(err, net.ErrClosed) {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
}
