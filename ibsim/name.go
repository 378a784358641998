package ibsim

import (
	"fmt"
	"net"
	"strings"
)

// Defaults of the protocol: the base of the names, which the environment
// variable IBSIM_SOCKNAME replaces, and the UDP port of the server's control
// socket.
const (
	DefaultName = "sim"
	DefaultPort = 7070
)

// Names are the addresses of one server and its clients on unix sockets; it is
// the base of all of them. They are abstract ones: no files, and only Linux has
// them. A NUL ends each and is part of it.
type Names string

// Server is the server's control socket.
func (n Names) Server() *net.UnixAddr { return n.addr("ctl") }

// Out is the server's data socket for a client, by the client's number.
func (n Names) Out(client uint32) *net.UnixAddr { return n.addr(fmt.Sprintf("out%d", client)) }

// Client is a client's control socket, by the ID of its Connect.
func (n Names) Client(id uint32) *net.UnixAddr { return n.addr(fmt.Sprintf("ctl%d", id)) }

// In is a client's data socket, by the ID of its Connect.
func (n Names) In(id uint32) *net.UnixAddr { return n.addr(fmt.Sprintf("in%d", id)) }

func (n Names) addr(what string) *net.UnixAddr {
	return &net.UnixAddr{Net: "unixgram", Name: "@" + string(n) + ":" + what + "\x00"}
}

// maxName is what a unix address holds, less the NUL at either end.
const maxName = 108 - 2

// Check tells of a base from which no addresses can be made: one with a NUL,
// or so long that some address does not fit.
func (n Names) Check() error {
	const longest = ":ctl4294967295"
	switch {
	case n == "":
		return fmt.Errorf("empty socket name")
	case strings.ContainsRune(string(n), 0):
		return fmt.Errorf("socket name %q has a NUL", string(n))
	case len(n)+len(longest) > maxName:
		return fmt.Errorf("socket name of %d bytes, at most %d", len(n), maxName-len(longest))
	default:
		return nil
	}
}

// Source repairs the address that net tells of a received datagram: it drops
// the NUL at the end, and an answer to what is left reaches nobody.
func Source(addr *net.UnixAddr) *net.UnixAddr {
	if addr == nil || !strings.HasPrefix(addr.Name, "@") || strings.HasSuffix(addr.Name, "\x00") {
		return addr
	}
	return &net.UnixAddr{Net: addr.Net, Name: addr.Name + "\x00"}
}

// OutPort is the server's UDP port of data for a client, by the client's
// number; control is the port of its control socket. ok is false beyond the
// last port. The client's own data port is the ID of its Connect.
func OutPort(control uint16, client uint32) (port uint16, ok bool) {
	p := uint64(control) + 1 + uint64(client)
	return uint16(p), p <= 0xffff
}
