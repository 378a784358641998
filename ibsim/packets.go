package ibsim

import (
	"net"
	"syscall"
)

// Conn is a datagram socket as package net makes it.
type Conn interface {
	net.Conn
	syscall.Conn
}
