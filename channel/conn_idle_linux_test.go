package channel

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestIdleConns: 100 connections with a reader at both ends of each, all in this
// process, through which nothing goes, take less than 1 % of a core and no thread
// each; and all still work.
func TestIdleConns(t *testing.T) {
	const many = 100
	a, b := liveTransport(t), liveTransport(t)
	l := a.ListenConn(localListener(t), LinkConfig{}, func(err error) { t.Errorf("refused: %v", err) })
	defer l.Close()
	before := threads(t)
	var conns []net.Conn
	var readers sync.WaitGroup
	for range many {
		accepted := make(chan net.Conn, 1)
		go func() {
			c, err := l.Accept()
			if err != nil {
				t.Error(err)
			}
			accepted <- c
		}()
		c, err := b.DialConn(t.Context(), l.Addr().Network(), l.Addr().String(), LinkConfig{})
		if err != nil {
			t.Fatal(err)
		}
		s := <-accepted
		conns = append(conns, c, s)
		readers.Go(func() { // what comes goes back
			if _, err := io.Copy(s, s); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		})
	}
	echoes := make(chan error, many)
	for i := range many {
		go func() { echoes <- expect(conns[2*i], byte(i)) }()
	}
	used := idle(t, 2*time.Second)
	// Those of the runtime come and go, and other tests have left some.
	if n := threads(t) - before; n > many/4 {
		t.Errorf("%d more threads for %d connections", n, many)
	}
	for i := range many {
		if _, err := conns[2*i].Write([]byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for range many {
		if err := <-echoes; err != nil {
			t.Error(err)
		}
	}
	for _, c := range conns {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	if used >= 0.01 {
		t.Errorf("%.2f %% of a core", 100*used)
	}
	t.Logf("%d connections at rest: %.3f %% of a core", many, 100*used)
}

// expect waits for a byte.
func expect(c net.Conn, want byte) error {
	b := make([]byte, 1)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	if b[0] != want {
		return errors.New("another one's byte")
	}
	return nil
}

// idle is the least share of a core that the process takes in one of three times
// of a length.
func idle(t *testing.T, length time.Duration) float64 {
	least := 1.0
	for range 3 {
		began, used := time.Now(), cpu(t)
		<-time.After(length)
		least = min(least, float64(cpu(t)-used)/float64(time.Since(began)))
	}
	return least
}

// cpu is the time that the process has had.
func cpu(t *testing.T) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// threads is how many the process has.
func threads(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(b) {
		if text, ok := bytes.CutPrefix(line, []byte("Threads:")); ok {
			n, err := strconv.Atoi(string(bytes.TrimSpace(text)))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("the kernel does not say how many threads there are")
	return 0
}
