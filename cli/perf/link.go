package perf

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
)

// Link joins both ends while they agree on what to do. It is for one goroutine,
// but for Close.
type Link struct {
	conn net.Conn
	in   chan []byte
	done chan struct{} // of read

	// ctx ends when the other end is gone, or says that it failed.
	ctx    context.Context
	cancel context.CancelCauseFunc
	once   sync.Once
}

// maxLine is the length of a message at most.
const maxLine = 1 << 20

var errGone = errors.New("the other end is gone")

// NewLink makes a link of a connection, which it closes.
func NewLink(ctx context.Context, conn net.Conn) *Link {
	l := &Link{conn: conn, in: make(chan []byte, 4), done: make(chan struct{})}
	l.ctx, l.cancel = context.WithCancelCause(ctx)
	context.AfterFunc(l.ctx, func() { conn.Close() }) //nolint:errcheck // so that nobody waits to write what nobody reads
	go l.read()
	return l
}

// Close ends it.
func (l *Link) Close() error {
	var err error
	l.once.Do(func() {
		if err = l.conn.Close(); errors.Is(err, net.ErrClosed) {
			err = nil // when the context ended
		}
		l.cancel(net.ErrClosed)
		<-l.done
	})
	return err
}

// failure is the message of an end that cannot go on.
type failure struct {
	Error string `json:"error"`
}

// read takes messages, and ends the context after the last.
func (l *Link) read() {
	defer close(l.done)
	lines := bufio.NewScanner(l.conn)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		var f failure
		if json.Unmarshal(lines.Bytes(), &f) == nil && f.Error != "" {
			l.cancel(fmt.Errorf("the other end: %s", f.Error))
			return
		}
		select {
		case l.in <- append([]byte(nil), lines.Bytes()...):
		case <-l.ctx.Done():
			return
		}
	}
	if err := lines.Err(); err != nil {
		l.cancel(fmt.Errorf("%w: %w", errGone, err))
	}
	l.cancel(errGone)
}

func (l *Link) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if _, err = l.conn.Write(append(line, '\n')); err != nil {
		if cause := context.Cause(l.ctx); cause != nil {
			return cause // says more
		}
	}
	return err
}

// fail tells the other end of an error, and returns it.
func (l *Link) fail(err error) error {
	if cause := context.Cause(l.ctx); cause != nil {
		return cause
	}
	l.send(failure{err.Error()}) //nolint:errcheck // the first error is told
	return err
}

func (l *Link) receive(v any) error {
	select {
	case line := <-l.in:
		return json.Unmarshal(line, v)
	default:
	}
	select {
	case line := <-l.in:
		return json.Unmarshal(line, v)
	case <-l.ctx.Done():
	}
	select { // what came before the end
	case line := <-l.in:
		return json.Unmarshal(line, v)
	default:
		return context.Cause(l.ctx)
	}
}

// swap sends a message and receives that of the other end: nobody comes further
// before both are there.
func (l *Link) swap(mine, theirs any) error {
	if err := l.send(mine); err != nil {
		return err
	}
	return l.receive(theirs)
}
