package ibsim_test

import (
	"errors"
	"net"
	"runtime"
	"strings"
	"testing"

	"heddle/ibsim"
)

func TestNames(t *testing.T) {
	n := ibsim.Names("sim")
	for _, test := range []struct {
		got  *net.UnixAddr
		want string
	}{
		{n.Server(), "@sim:ctl\x00"},
		{n.Out(12), "@sim:out12\x00"},
		{n.Client(4711), "@sim:ctl4711\x00"},
		{n.In(4711), "@sim:in4711\x00"},
	} {
		if test.got.Name != test.want || test.got.Net != "unixgram" {
			t.Errorf("%q of %s, want %q", test.got.Name, test.got.Net, test.want)
		}
	}
}

func TestNamesCheck(t *testing.T) {
	for _, test := range []struct {
		name string
		good bool
	}{
		{"sim", true},
		{"", false},
		{"a\x00b", false},
		{strings.Repeat("x", 92), true},
		{strings.Repeat("x", 93), false},
	} {
		if err := ibsim.Names(test.name).Check(); (err == nil) != test.good {
			t.Errorf("%q: %v", test.name, err)
		}
	}
}

func TestOutPort(t *testing.T) {
	if port, ok := ibsim.OutPort(ibsim.DefaultPort, 3); port != 7074 || !ok {
		t.Errorf("port %d, %v, want 7074", port, ok)
	}
	for _, client := range []uint32{65535 - 7070, 1<<32 - 1} {
		if port, ok := ibsim.OutPort(ibsim.DefaultPort, client); ok {
			t.Errorf("client %d has port %d", client, port)
		}
	}
}

// TestSource talks over real sockets: net drops the NUL at the end of the
// sender's address, and Source brings it back. The longest base that Check
// allows makes addresses that can be bound.
func TestSource(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has abstract sockets")
	}
	base := t.Name()
	names := ibsim.Names(base + strings.Repeat("x", 92-len(base)))
	server, client := listen(t, names.Server()), listen(t, names.Client(4294967295))
	write(t, client, names.Server(), "ask")
	buf := make([]byte, 10)
	_, from, err := server.ReadFromUnix(buf)
	if err != nil {
		t.Fatal(err)
	}
	write(t, server, ibsim.Source(from), "answer")
	if n, err := client.Read(buf); err != nil || string(buf[:n]) != "answer" {
		t.Errorf("read %q, %v", buf[:n], err)
	}
	if again := ibsim.Source(ibsim.Source(from)); again.Name != names.Client(4294967295).Name {
		t.Errorf("Source twice is %q", again.Name)
	}
}

func listen(t *testing.T, addr *net.UnixAddr) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram(addr.Net, addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // the test is over
	return conn
}

func write(t *testing.T, conn *net.UnixConn, to *net.UnixAddr, text string) {
	t.Helper()
	if _, err := conn.WriteToUnix([]byte(text), to); err != nil {
		t.Fatal(err)
	}
}

// TestConnectSocket fills the queue between two connected sockets far beyond
// the kernel's limit of 10 datagrams for others.
func TestConnectSocket(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has abstract sockets")
	}
	names := ibsim.Names(t.Name())
	out, in := listen(t, names.Out(0)), listen(t, names.In(1))
	for conn, peer := range map[*net.UnixConn]*net.UnixAddr{out: names.In(1), in: names.Out(0)} {
		if err := ibsim.ConnectSocket(conn, peer); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		if _, err := out.Write(make([]byte, ibsim.PacketSize)); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		if n, err := in.Read(make([]byte, 2*ibsim.PacketSize)); n != ibsim.PacketSize || err != nil {
			t.Fatalf("read %d bytes, %v", n, err)
		}
	}
}

func TestConnectSocketFails(t *testing.T) {
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	v6 := &net.UDPAddr{IP: net.IPv6loopback, Port: 1}
	if err := ibsim.ConnectSocket(conn, v6); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("to IPv6: %v", err)
	}
}
