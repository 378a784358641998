package ibsim

import (
	"io"
	"syscall"
	"time"
)

// Conn is a datagram socket that packets are read from, as package net makes it.
type Conn interface {
	io.ReadCloser
	syscall.Conn
	SetReadDeadline(t time.Time) error
}
