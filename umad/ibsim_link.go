package umad

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"heddle/ib"
	"heddle/ibsim"
)

// simLink is the sockets between a client and a server.
type simLink struct {
	// name is that of the server in messages: "ibsim:sim".
	name    string
	control net.Conn   // connected to the server
	data    ibsim.Conn // bound; connected when the client has its number
	// id is that of the client before it has a number.
	id uint32
	// qp is the queue pair that the client sends from; above 1.
	qp ib.QPN
	// out is the address of the server's data socket for a client.
	out func(client uint32) (net.Addr, error)
}

func (l *simLink) close() {
	l.control.Close() //nolint:errcheck // nothing is written late
	l.data.Close()    //nolint:errcheck // nothing is written late
}

// simQP makes a queue pair of a number: 24 bits, the highest of them set.
// Clients at one port need different ones.
func simQP(n uint32) ib.QPN { return ib.QPN(n)&0x7FFFFF | 0x800000 }

// OpenIBSim attaches to a node of a server on unix sockets with the given base
// name, "" for that of IBSIM_SOCKNAME or else "sim". The node is its ID, its
// description, or its GUID where the ID is made of it (H-0000000000100000); ""
// is the server's choice. Where there is no server or no such node the error
// wraps ErrNoDevice.
func OpenIBSim(base, node string) (*IBSim, error) {
	base = cmp.Or(base, os.Getenv("IBSIM_SOCKNAME"), ibsim.DefaultName)
	names := ibsim.Names(base)
	if err := names.Check(); err != nil {
		return nil, fmt.Errorf("ibsim: %w", err)
	}
	link, err := dialUnix(names)
	if err != nil {
		return nil, fmt.Errorf("ibsim:%s: %w", base, gone(err))
	}
	link.name = "ibsim:" + base
	link.out = func(client uint32) (net.Addr, error) { return names.Out(client), nil }
	return newIBSim(link, node)
}

// pidBits is the size of the largest process ID of Linux.
const pidBits = 22

// dialUnix finds an ID that no client has. Clients through umad2sim take their
// process ID; those of heddle have a number above its bits.
func dialUnix(names ibsim.Names) (simLink, error) {
	pid := uint32(os.Getpid()) & (1<<pidBits - 1)
	for n := uint32(1); n < 1<<(31-pidBits); n++ {
		id := n<<pidBits | pid
		link, err := bindUnix(names, id)
		if err == nil {
			link.id, link.qp = id, simQP(pid<<9^n)
			return link, nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return simLink{}, err
		}
	}
	return simLink{}, fmt.Errorf("this process has too many clients: %w", syscall.EADDRINUSE)
}

func bindUnix(names ibsim.Names, id uint32) (simLink, error) {
	control, err := net.DialUnix("unixgram", names.Client(id), names.Server())
	if err != nil {
		return simLink{}, err
	}
	data, err := net.ListenUnixgram("unixgram", names.In(id))
	if err != nil {
		control.Close() //nolint:errcheck // unused
		return simLink{}, err
	}
	quiet, err := ibsim.Quiet(data)
	if err != nil {
		control.Close() //nolint:errcheck // unused
		return simLink{}, err
	}
	return simLink{control: control, data: quiet}, nil
}

// udpBuffer is the size of the receive buffer of a UDP data socket, which
// loses what does not fit.
const udpBuffer = 1 << 20

// OpenIBSimUDP attaches to a node of a server in remote mode, at HOST or
// HOST:PORT; the port is that of the control socket, 7070 where it is missing.
// IPv4 only. See OpenIBSim for the node and errors.
func OpenIBSimUDP(address, node string) (*IBSim, error) {
	link, err := dialUDP(address)
	if err != nil {
		return nil, fmt.Errorf("ibsim+udp:%s: %w", address, gone(err))
	}
	link.name = "ibsim+udp:" + address
	return newIBSim(link, node)
}

func dialUDP(address string) (simLink, error) {
	if !strings.Contains(address, ":") {
		address += ":" + strconv.Itoa(ibsim.DefaultPort)
	}
	server, err := net.ResolveUDPAddr("udp4", address)
	if err != nil {
		return simLink{}, fmt.Errorf("%w: %w", ErrNoDevice, err)
	}
	control, err := net.DialUDP("udp4", nil, server)
	if err != nil {
		return simLink{}, err
	}
	data, err := net.ListenUDP("udp4", &net.UDPAddr{IP: control.LocalAddr().(*net.UDPAddr).IP})
	if err != nil {
		control.Close() //nolint:errcheck // unused
		return simLink{}, err
	}
	data.SetReadBuffer(udpBuffer) //nolint:errcheck // a smaller one works
	id := uint32(data.LocalAddr().(*net.UDPAddr).Port)
	out := func(client uint32) (net.Addr, error) { return udpOut(server, client) }
	return simLink{control: control, data: data, id: id, qp: simQP(id), out: out}, nil
}

func udpOut(server *net.UDPAddr, client uint32) (net.Addr, error) {
	port, ok := ibsim.OutPort(uint16(server.Port), client)
	if !ok {
		return nil, fmt.Errorf("client number %d is beyond the last port", client)
	}
	return &net.UDPAddr{IP: server.IP, Port: int(port)}, nil
}
