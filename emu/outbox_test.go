//go:build linux

package emu

import (
	"fmt"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"heddle/ibsim"
)

// TestOutboxAfterLateness: a client that did not read for a while gets what
// waited for it, and then what is sent later.
func TestOutboxAfterLateness(t *testing.T) {
	names := ibsim.Names(fmt.Sprint("heddle-outbox-", os.Getpid()))
	in, out := listenOn(t, names.In(1)), listenOn(t, names.Out(1))
	if err := ibsim.ConnectSocket(out, names.In(1)); err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	defer running.Wait()
	o, err := newOutbox(out, &running, func() {})
	if err != nil {
		t.Fatal(err)
	}
	var p ibsim.Packet
	send := func(n int) {
		for range n {
			o.put(&p)
			o.flush()
		}
	}
	read := func(n int) {
		for i := range n {
			if err := in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
				t.Fatal(err)
			}
			if _, err := in.Read(p[:]); err != nil {
				t.Fatalf("packet %d of %d: %v", i+1, n, err)
			}
		}
	}
	const many = 1000 // more than a socket's queue takes
	send(many)
	read(many)
	for start := time.Now(); time.Since(start) < 2*outboxTry; { // until the last try would be over
		send(1)
		read(1)
	}
}

func listenOn(t *testing.T, addr *net.UnixAddr) *net.UnixConn {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() }) //nolint:errcheck // nothing is left to lose
	return conn
}
