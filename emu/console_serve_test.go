package emu

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener whose connections are pipes in the process.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	here, there := net.Pipe()
	p.conns <- there
	return here
}

// serveConsole serves the console of consoleFabric until the end of the test.
func serveConsole(t *testing.T, listener net.Listener) *ConsoleServer {
	t.Helper()
	live, err := Start(consoleFabric(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	c := live.ServeConsole(listener)
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), c.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func listenUnix(t *testing.T) (listener net.Listener, dial func() *net.UnixConn) {
	t.Helper()
	addr := &net.UnixAddr{Net: "unix", Name: filepath.Join(t.TempDir(), "c")}
	listener, err := net.ListenUnix("unix", addr)
	if err != nil {
		t.Fatal(err)
	}
	return listener, func() *net.UnixConn {
		conn, err := net.DialUnix("unix", nil, addr)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() }) //nolint:errcheck // may be closed
		return conn
	}
}

func TestConsoleServer(t *testing.T) {
	listener, dial := listenUnix(t)
	serveConsole(t, listener)
	var wait sync.WaitGroup
	for range 20 {
		conn := dial()
		wait.Go(func() {
			for n := range 20 {
				answer, err := AskConsole(conn, "node", "spine one")
				if err != nil || !strings.HasPrefix(answer, "'spine one': ") {
					t.Errorf("%q, %v", answer, err)
				}
				answer, err = AskConsole(conn, "link", fmt.Sprintf("node %d", n))
				var refused ConsoleError
				if !errors.As(err, &refused) || answer != "" {
					t.Errorf("%q, %v", answer, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestConsoleWire shows what is on the wire. Each client closes its side after
// it has written.
func TestConsoleWire(t *testing.T) {
	listener, dial := listenUnix(t)
	serveConsole(t, listener)
	const cut = " third[1] S-2[4]: down; cut\nok\n"
	for _, test := range []struct{ name, send, want string }{
		{"nothing", "", ""},
		{"empty lines", "\n\r\n", "ok\nok\n"},
		{"a line", "link cut host[1]\n", cut},
		{"a line without its end", "link cut host[1]", cut},
		{"two lines at once", "link cut host[1]\r\ndrop 2\n", cut + "error: drop: \"2\": want a probability from 0 to 1, such as 0.05\n"},
		{"garbage", "\x00\xff\x01\n", "error: no command \"\\x00\\xff\\x01\"; there are"},
		{"a long line", "help" + strings.Repeat(" ", consoleLine-5) + "\n", " status"},
		{"too long a line", strings.Repeat("a", consoleLine) + "\nstatus\n", "error: a line of more than 4096 bytes\n"},
		{"an endless line", strings.Repeat("a", 100*consoleLine), "error: a line of more than 4096 bytes\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			conn := dial()
			_, err := io.WriteString(conn, test.send) // fails where the server has had enough
			if err == nil {
				err = conn.CloseWrite()
			}
			got, readErr := io.ReadAll(conn)
			if !strings.HasPrefix(string(got), test.want) || test.want == "" && len(got) > 0 {
				t.Errorf("%q, want %q (%v, %v)", got, test.want, err, readErr)
			}
		})
	}
}

func TestConsoleConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		server := serveConsole(t, listener)
		var conns []net.Conn
		for range consoleConns {
			conns = append(conns, listener.dial())
		}
		if n, err := listener.dial().Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("one connection too many is served")
		}
		conns[0].Close() //nolint:errcheck // a pipe
		synctest.Wait()
		if _, err := AskConsole(listener.dial(), "status"); err != nil {
			t.Errorf("the place of a connection that ended: %v", err)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		for _, conn := range conns[1:] {
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("a connection outlives the server")
			}
		}
	})
}

// TestConsoleEndsIdleConnections has clients that say nothing, that say a part
// of a line, and that do not take their answer.
func TestConsoleEndsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		serveConsole(t, listener)
		for _, test := range []struct {
			send string
			want time.Duration
		}{{"", consoleIdle}, {"stat", consoleIdle}, {"status\n", consoleWrite}} {
			conn := listener.dial()
			start := time.Now()
			if _, err := io.WriteString(conn, test.send); err != nil {
				t.Fatal(err)
			}
			time.Sleep(test.want + time.Millisecond)
			synctest.Wait()
			if _, err := conn.Write([]byte("x")); err == nil {
				t.Errorf("%q: alive after %v", test.send, time.Since(start))
			}
		}
	})
}

func TestConsoleAfterClose(t *testing.T) {
	live, err := Start(consoleFabric(t), Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	if answer, err := live.Console("status"); answer != "" || !errors.Is(err, net.ErrClosed) {
		t.Errorf("%q, %v", answer, err)
	}
}

func TestReadReplyRefuses(t *testing.T) {
	for _, reply := range []string{"", " a\n", "ok", "okay\n", "a\nok\n", "error\n"} {
		var refused ConsoleError
		if got, err := readReply(bufio.NewReader(strings.NewReader(reply))); err == nil || got != "" || errors.As(err, &refused) {
			t.Errorf("%q is %q, %v", reply, got, err)
		}
	}
}
