package console

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

// echo answers with the words of a line, a line each, and refuses "no".
func echo(line string) (string, error) {
	words, err := Split(line)
	if err != nil || len(words) == 0 {
		return "", err
	}
	if words[0] == "no" {
		return "", errors.New("no:\nnever")
	}
	return strings.Join(words, "\n") + "\n", nil
}

// serve serves echo until the end of the test.
func serve(t *testing.T, listener net.Listener) *Server {
	t.Helper()
	c := Serve(listener, echo)
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), c.Close()); err != nil {
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

func TestServer(t *testing.T) {
	listener, dial := listenUnix(t)
	serve(t, listener)
	var wait sync.WaitGroup
	for range 20 {
		conn := dial()
		wait.Go(func() {
			for n := range 20 {
				answer, err := Ask(conn, "node", "spine one")
				if err != nil || answer != "node\nspine one\n" {
					t.Errorf("%q, %v", answer, err)
				}
				answer, err = Ask(conn, "no", fmt.Sprintf("node %d", n))
				var refused Error
				if !errors.As(err, &refused) || answer != "" {
					t.Errorf("%q, %v", answer, err)
				}
			}
		})
	}
	wait.Wait()
}

// TestWire shows what is on the wire. Each client closes its side after
// it has written.
func TestWire(t *testing.T) {
	listener, dial := listenUnix(t)
	serve(t, listener)
	const said = " a b\n c\nok\n"
	for _, test := range []struct{ name, send, want string }{
		{"nothing", "", ""},
		{"empty lines", "\n\r\n", "ok\nok\n"},
		{"a line", "'a b' c\n", said},
		{"a line without its end", "'a b' c", said},
		{"two lines at once", "'a b' c\r\nno 2\n", said + "error: no: never\n"},
		{"garbage", "\x00\xff'\x01\n", "error: a quotation that begins with ' does not end\n"},
		{"a long line", "help" + strings.Repeat(" ", maxLine-5) + "\n", " help\n"},
		{"too long a line", strings.Repeat("a", maxLine) + "\nstatus\n", "error: a line of more than 4096 bytes\n"},
		{"an endless line", strings.Repeat("a", 100*maxLine), "error: a line of more than 4096 bytes\n"},
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

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		server := serve(t, listener)
		var conns []net.Conn
		for range maxConns {
			conns = append(conns, listener.dial())
		}
		if n, err := listener.dial().Read(make([]byte, 1)); n != 0 || err == nil {
			t.Error("one connection too many is served")
		}
		conns[0].Close() //nolint:errcheck // a pipe
		synctest.Wait()
		if _, err := Ask(listener.dial(), "status"); err != nil {
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

// TestEndsIdleConnections has clients that say nothing, that say a part
// of a line, and that do not take their answer.
func TestEndsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener := newPipes()
		serve(t, listener)
		for _, test := range []struct {
			send string
			want time.Duration
		}{{"", maxIdle}, {"stat", maxIdle}, {"status\n", maxWrite}} {
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

func TestReadReplyRefuses(t *testing.T) {
	for _, reply := range []string{"", " a\n", "ok", "okay\n", "a\nok\n", "error\n"} {
		var refused Error
		if got, err := readReply(bufio.NewReader(strings.NewReader(reply))); err == nil || got != "" || errors.As(err, &refused) {
			t.Errorf("%q is %q, %v", reply, got, err)
		}
	}
}
