package testenv

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience is how long a peer may take for anything before the test fails.
const patience = 3 * time.Minute

// process is a peer that runs beside a test, and what it has written so far. It
// is killed at the end of the test, and dies with the test's own process.
type process struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when all is read and the process is gone

	mu     sync.Mutex
	change *sync.Cond // of out, ended and late
	out    bytes.Buffer
	seen   int // how much of out was waited for
	ended  bool
	late   bool
}

// start runs cmd, whose standard output is kept.
func start(tb testing.TB, cmd *exec.Cmd) *process {
	tb.Helper()
	p := &process{name: cmd.Path, cmd: cmd, done: make(chan struct{})}
	p.change = sync.NewCond(&p.mu)
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	started := make(chan error)
	go p.run(started, out)
	if err := <-started; err != nil {
		tb.Fatalf("start %s: %v", p.name, err)
	}
	tb.Cleanup(p.stop)
	return p
}

// run starts the process and stays on its thread until the process is gone:
// the kernel takes the end of the thread for the end of the parent.
func (p *process) run(started chan<- error, out io.Reader) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	dieWithParent(p.cmd)
	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.read(out)
	p.cmd.Wait() //nolint:errcheck // it was killed, or what it said is shown
}

func (p *process) read(out io.Reader) {
	r := bufio.NewReader(out)
	chunk := make([]byte, 1<<16)
	for {
		n, err := r.Read(chunk)
		p.mu.Lock()
		p.out.Write(chunk[:n])
		p.ended = err != nil
		p.change.Broadcast()
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// stop kills the process and waits for its end.
func (p *process) stop() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
	<-p.done
}

// wait returns what the process writes up to and with text, from where the
// last wait stopped. It fails the test when the process ends or takes too long.
func (p *process) wait(tb testing.TB, text string) string {
	tb.Helper()
	alarm := time.AfterFunc(patience, p.giveUp)
	defer alarm.Stop()
	p.mu.Lock()
	got, ok := p.find(text)
	for !ok && !p.ended && !p.late {
		p.change.Wait()
		got, ok = p.find(text)
	}
	all := p.out.String()
	p.mu.Unlock()
	if !ok {
		tb.Fatalf("%s did not write %q; it wrote:\n%s", p.name, text, tail(all))
	}
	return got
}

// waitEnd waits for the end of the process; what it may still be asked for is
// cut off. It fails the test when that takes too long.
func (p *process) waitEnd(tb testing.TB) {
	tb.Helper()
	p.in.Close() //nolint:errcheck // it may have ended by itself
	select {
	case <-p.done:
	case <-time.After(patience):
		tb.Fatalf("%s does not end; it wrote:\n%s", p.name, tail(p.written()))
	}
}

func (p *process) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.late = true
	p.change.Broadcast()
}

// find is called with the lock held.
func (p *process) find(text string) (string, bool) {
	rest := p.out.Bytes()[p.seen:]
	i := bytes.Index(rest, []byte(text))
	if i < 0 {
		return "", false
	}
	p.seen += i + len(text)
	return string(rest[:i+len(text)]), true
}

// written is all that the process wrote so far.
func (p *process) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// tail is the end of a long text.
func tail(text string) string {
	const limit = 4000
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("(%d bytes before)%s", len(text)-limit, text[len(text)-limit:])
}

// send writes a line to the process.
func (p *process) send(tb testing.TB, line string) {
	tb.Helper()
	if _, err := io.WriteString(p.in, strings.TrimSuffix(line, "\n")+"\n"); err != nil {
		tb.Fatalf("%s: %v", p.name, err)
	}
}
