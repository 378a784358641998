package emu

import (
	"errors"
	"fmt"
	"net"
	"syscall"

	"heddle/ibsim"
)

// sockets are the names of a server's sockets and those of its clients: on
// unix sockets, or on UDP.
type sockets interface {
	// control binds the socket that clients send control messages to.
	control() (socket, error)
	// data binds the socket of a client's data and connects it with the
	// client's own, which is named by the ID of its Connect and the address
	// that this came from.
	data(client, id uint32, from net.Addr) (socket, error)
	// owner names who has a client's sockets, by the ID of its Connect and the
	// address that this came from: what no two clients can have at once. It
	// refuses a Connect that is not the owner's.
	owner(id uint32, from net.Addr) (string, error)
	// alive tells whether somebody has the client's socket still, as far as
	// can be known.
	alive(id uint32) bool
	String() string
}

// socket is what net's two sorts of datagram sockets have in common.
type socket interface {
	net.Conn
	net.PacketConn
	syscall.Conn
}

type unixSockets struct{ ibsim.Names }

func (u unixSockets) String() string { return string(u.Names) }

func (u unixSockets) control() (socket, error) { return bindUnix(u.Server()) }

func (u unixSockets) data(client, id uint32, _ net.Addr) (socket, error) {
	conn, err := bindUnix(u.Out(client))
	if err != nil {
		return nil, err
	}
	if err := ibsim.ConnectSocket(conn, u.In(id)); err != nil {
		conn.Close() //nolint:errcheck // the error of interest is the first
		return nil, err
	}
	return conn, nil
}

// owner is the client's control socket, whose name has the ID in it.
func (u unixSockets) owner(id uint32, from net.Addr) (string, error) {
	if from.String() != u.Client(id).String() {
		return "", fmt.Errorf("ID %d of another client than %v", id, from)
	}
	return from.String(), nil
}

func bindUnix(addr *net.UnixAddr) (*net.UnixConn, error) { return net.ListenUnixgram("unixgram", addr) }

// alive connects a socket that is thrown away. The kernel does not permit it,
// since the client's socket is connected with ours; but where nobody has the
// name any more it refuses.
func (u unixSockets) alive(id uint32) bool {
	conn, err := net.DialUnix("unixgram", nil, u.In(id))
	if err != nil {
		return !errors.Is(err, syscall.ECONNREFUSED)
	}
	conn.Close() //nolint:errcheck // nothing was sent
	return true
}

// udpSockets are those of ibsim's remote mode.
type udpSockets struct{ *net.UDPAddr }

func (u udpSockets) control() (socket, error) { return net.ListenUDP("udp4", u.UDPAddr) }

func (u udpSockets) data(client, id uint32, from net.Addr) (socket, error) {
	port, ok := ibsim.OutPort(uint16(u.Port), client)
	peer, isUDP := from.(*net.UDPAddr)
	if !ok || !isUDP || id == 0 || id > 0xFFFF {
		return nil, fmt.Errorf("client %d, port %d of %v: %w", client, id, from, ErrFull)
	}
	conn, err := net.ListenUDP("udp4", &net.UDPAddr{IP: u.IP, Port: int(port)})
	if err != nil {
		return nil, err
	}
	if err := ibsim.ConnectSocket(conn, &net.UDPAddr{IP: peer.IP, Port: int(id)}); err != nil {
		conn.Close() //nolint:errcheck // the error of interest is the first
		return nil, err
	}
	return conn, nil
}

// owner is the client's data socket.
func (u udpSockets) owner(id uint32, from net.Addr) (string, error) {
	peer, ok := from.(*net.UDPAddr)
	if !ok {
		return "", fmt.Errorf("client at %v: not on UDP", from)
	}
	return fmt.Sprintf("%v/%d", peer.IP, id), nil
}

// alive cannot be known; a write to a port that is closed fails soon enough.
func (udpSockets) alive(uint32) bool { return true }
