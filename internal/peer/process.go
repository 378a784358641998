package peer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"strings"
	"sync"
)

// Process is a running program and what it has written so far. Wait is called
// by one goroutine, the other methods by any.
type Process struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	done chan struct{} // closed when all is read and the process is gone

	mu     sync.Mutex
	change *sync.Cond   // of what follows
	out    bytes.Buffer // guarded by mu, as what follows
	errs   bytes.Buffer
	seen   int // how much of out was waited for
	ended  bool
}

// Start runs cmd, whose standard input, output and errors it takes. Stop ends
// it.
func Start(cmd *exec.Cmd) (*Process, error) { return start(cmd, false) }

// StartLogger is Start for a program that logs to its standard error: that is
// output too.
func StartLogger(cmd *exec.Cmd) (*Process, error) { return start(cmd, true) }

func start(cmd *exec.Cmd, errorsToo bool) (*Process, error) {
	p := &Process{cmd: cmd, done: make(chan struct{})}
	p.change = sync.NewCond(&p.mu)
	cmd.Stderr = (*errorWriter)(p)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if errorsToo {
		cmd.Stderr = cmd.Stdout
	}
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	started := make(chan error)
	go p.run(started, out)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}
	return p, nil
}

// run starts the process and stays on its thread until the process is gone:
// the kernel takes the end of the thread for the end of the parent.
func (p *Process) run(started chan<- error, out io.Reader) {
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

func (p *Process) read(out io.Reader) {
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

// errorWriter takes what the process writes to its standard error.
type errorWriter Process

func (w *errorWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.errs.Write(b)
}

// PID is the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stop kills the process and waits for its end. A second Stop does nothing.
func (p *Process) Stop() {
	p.cmd.Process.Kill() //nolint:errcheck // it may have ended by itself
	<-p.done
}

// Wait returns what the process writes up to and with text, from where the
// last Wait stopped. The error of a process that ends before, or of a context
// that does, has what it wrote.
func (p *Process) Wait(ctx context.Context, text string) (string, error) {
	defer context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.change.Broadcast()
	})()
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		if got, ok := p.find(text); ok {
			return got, nil
		}
		if err := context.Cause(ctx); err != nil {
			return "", fmt.Errorf("%s did not write %q: %w; it wrote:\n%s", p.cmd.Path, text, err, p.tail())
		}
		if p.ended {
			return "", fmt.Errorf("%s ended and did not write %q; it wrote:\n%s", p.cmd.Path, text, p.tail())
		}
		p.change.Wait()
	}
}

// find looks for text in what was not waited for. The lock is held.
func (p *Process) find(text string) (string, bool) {
	rest := p.out.Bytes()[p.seen:]
	i := bytes.Index(rest, []byte(text))
	if i < 0 {
		return "", false
	}
	p.seen += i + len(text)
	return string(rest[:i+len(text)]), true
}

// WaitEnd waits for the end of the process; what it may still be asked for is
// cut off. The error of one that failed has what it wrote.
func (p *Process) WaitEnd(ctx context.Context) error {
	p.in.Close() //nolint:errcheck // it may have ended by itself
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("%s does not end: %w; it wrote:\n%s", p.cmd.Path, context.Cause(ctx), p.written())
	}
	if state := p.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("%s: %v; it wrote:\n%s", strings.Join(p.cmd.Args, " "), state, p.written())
	}
	return nil
}

// written is tail, without the lock.
func (p *Process) written() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tail()
}

// Output is all that the process wrote to its standard output so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// tail is the end of what the process wrote, its errors last. The lock is held.
func (p *Process) tail() string {
	const limit = 4000
	text := p.out.String() + p.errs.String()
	if len(text) <= limit {
		return text
	}
	return fmt.Sprintf("(%d bytes before)%s", len(text)-limit, text[len(text)-limit:])
}

// Send writes a line to the process.
func (p *Process) Send(line string) error {
	if _, err := io.WriteString(p.in, strings.TrimSuffix(line, "\n")+"\n"); err != nil {
		return fmt.Errorf("%s: %w", p.cmd.Path, err)
	}
	return nil
}
