package console

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Bounds of a console's connections.
const (
	maxLine  = 4096             // bytes of a command, with the end of its line
	maxConns = 64               // at once
	maxIdle  = 10 * time.Minute // without a command
	maxWrite = 10 * time.Second // for an answer to be taken
)

// The last line of an answer; those before begin with a blank.
const (
	answerOK    = "ok"
	answerError = "error: "
)

// Server gives the console to whoever connects.
type Server struct {
	answer   func(line string) (string, error)
	listener net.Listener
	done     chan struct{}
	wait     sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{} // guarded by mu, as what follows
	closed bool
}

// Serve serves a console on a listener, which it closes in the end. Each line
// that comes on a connection is a command for answer, which is called by many
// goroutines at once. Ask is the other side.
func Serve(listener net.Listener, answer func(line string) (string, error)) *Server {
	c := &Server{answer: answer, listener: listener, done: make(chan struct{}), conns: map[net.Conn]struct{}{}}
	c.wait.Go(c.accept)
	return c
}

// Close closes the listener and all connections, and waits for their ends.
func (c *Server) Close() error {
	c.mu.Lock()
	was := c.closed
	c.closed = true
	for conn := range c.conns {
		conn.Close() //nolint:errcheck // nothing is to be saved
	}
	c.mu.Unlock()
	if was {
		c.wait.Wait()
		return nil
	}
	close(c.done)
	err := c.listener.Close()
	c.wait.Wait()
	if err != nil && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("console: %w", err)
	}
	return nil
}

// accept takes connections until the listener is closed. What else fails, such
// as for want of file descriptors, may be better a moment later.
func (c *Server) accept() {
	const moment = 100 * time.Millisecond
	for {
		conn, err := c.listener.Accept()
		switch {
		case err == nil:
			c.enter(conn)
		case errors.Is(err, net.ErrClosed):
			return
		default:
			select {
			case <-c.done:
				return
			case <-time.After(moment):
			}
		}
	}
}

func (c *Server) enter(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.conns) >= maxConns {
		conn.Close() //nolint:errcheck // nothing is to be saved
		return
	}
	c.conns[conn] = struct{}{}
	c.wait.Go(func() { c.converse(conn) })
}

func (c *Server) leave(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.conns, conn)
	conn.Close() //nolint:errcheck // nothing is to be saved
}

// converse answers the lines of a connection until it ends, is idle for too
// long, or sends a line that is too long.
func (c *Server) converse(conn net.Conn) {
	defer c.leave(conn)
	in := bufio.NewReaderSize(conn, maxLine)
	for {
		if conn.SetReadDeadline(time.Now().Add(maxIdle)) != nil {
			return
		}
		line, err := in.ReadSlice('\n')
		reply := ""
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			reply = wire("", fmt.Errorf("a line of more than %d bytes", maxLine))
		case len(line) > 0: // the last one may lack its end
			reply = wire(c.answer(string(line)))
		}
		if conn.SetWriteDeadline(time.Now().Add(maxWrite)) != nil {
			return
		}
		if _, failed := io.WriteString(conn, reply); failed != nil || err != nil {
			return
		}
	}
}

// wire is an answer as it is sent.
func wire(answer string, err error) string {
	if err != nil {
		return answerError + strings.NewReplacer("\n", " ", "\r", " ").Replace(err.Error()) + "\n"
	}
	var b strings.Builder
	for line := range strings.Lines(answer) {
		b.WriteString(" " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String() + answerOK + "\n"
}

// Ask asks a Server over a connection. The words are quoted as is
// needed, so that the console has the same; none can hold the end of a line.
// The error of a command that the console refuses is a Error.
func Ask(conn io.ReadWriter, words ...string) (answer string, err error) {
	line, err := quoteWords(words)
	if err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	if _, err := io.WriteString(conn, line+"\n"); err != nil {
		return "", fmt.Errorf("console: %w", err)
	}
	answer, err = readReply(bufio.NewReader(conn))
	if _, refused := errors.AsType[Error](err); err != nil && !refused {
		return "", fmt.Errorf("console: %w", err)
	}
	return answer, err
}

// quoteWords makes a line of words.
func quoteWords(words []string) (string, error) {
	var quoted []string
	for _, word := range words {
		if strings.ContainsAny(word, "\r\n") {
			return "", fmt.Errorf("%q holds the end of a line", word)
		}
		quoted = append(quoted, Quote(word))
	}
	line := strings.Join(quoted, " ")
	if len(line) >= maxLine {
		return "", fmt.Errorf("a line of %d bytes, at most %d", len(line), maxLine-1)
	}
	return line, nil
}

// Error is what the console says of a command that it refuses.
type Error string

func (e Error) Error() string { return string(e) }

// readReply reads an answer to its last line.
func readReply(in *bufio.Reader) (answer string, err error) {
	var b strings.Builder
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return "", fmt.Errorf("the answer ends early: %w", err)
		}
		line = strings.TrimSuffix(line, "\n")
		text, inside := strings.CutPrefix(line, " ")
		message, failed := strings.CutPrefix(line, answerError)
		switch {
		case inside:
			b.WriteString(text + "\n")
		case failed:
			return "", Error(message)
		case line == answerOK:
			return b.String(), nil
		default:
			return "", fmt.Errorf("%q is no line of a console", line)
		}
	}
}
