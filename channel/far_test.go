package channel

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"heddle/verbs"
)

// farVariable has a process of this test program be the far side of channels; it is
// the Unix socket of the near side.
const farVariable = "HEDDLE_CHANNEL_FAR"

// job is what a far side does: one end of a channel.
type job struct {
	Name, Kind        string
	Slots, Size, Ring int
	Sends             bool
	Seed              uint64
	Source            int           // which sender it is
	Span              time.Duration // how long it sends
	Most              uint64        // or how many messages
}

func (j *job) config() Config {
	return Config{Slots: j.Slots, Size: j.Size, Ring: j.Ring, Linger: patience}
}

// outcome is what came of it.
type outcome struct {
	Messages uint64
	Gone     bool // the error is that the near side is gone
	Err      string
	Held     usage
}

// beFar does jobs until there are no more.
func beFar(address string) error {
	dev, err := openLive()
	if err != nil {
		return err
	}
	link, err := Dial(context.Background(), "unix", address, LinkConfig{})
	if err != nil {
		return err
	}
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	var before usage
	for n := 0; ; n++ {
		var j job
		if err := in.Decode(&j); err != nil {
			return errors.Join(link.Close(), dev.Close())
		}
		var o outcome
		if o.Messages, err = j.do(dev, link); err != nil {
			o.Err, o.Gone = err.Error(), errors.Is(err, ErrPeerGone)
		}
		if n < 3 { // what is made once is made
			before = before.most(inUse())
		} else if o.Held = settled(before); !o.Held.within(before) {
			o.Err += fmt.Sprintf("; a leak: %+v before, %+v after", before, o.Held)
		}
		if err := out.Encode(o); err != nil {
			return err
		}
	}
}

// do is one end of a channel, until that has come to its end.
func (j *job) do(dev verbs.Context, link *Link) (n uint64, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	defer cancel()
	kind, err := Find(j.Kind)
	if err != nil {
		return 0, err
	}
	tr, err := NewTransport(dev, assumptionsFor(kind, dev)...)
	if err != nil {
		return 0, err
	}
	if j.Sends {
		n, err = j.send(ctx, tr, kind, link)
	} else {
		n, err = j.receive(ctx, tr, kind, link)
	}
	return n, errors.Join(err, tr.Close())
}

func (j *job) send(ctx context.Context, tr *Transport, kind *Kind, link *Link) (uint64, error) {
	s, err := tr.NewSender(kind, j.config())
	if err != nil {
		return 0, err
	}
	var n uint64
	if _, err = link.Attach(ctx, j.Name, s); err == nil {
		n, err = newFlow(j.Seed, j.Source, s.MaxMessage()).send(ctx, s, j.Span, j.Most)
	}
	return n, errors.Join(err, s.Close())
}

func (j *job) receive(ctx context.Context, tr *Transport, kind *Kind, link *Link) (uint64, error) {
	r, err := tr.NewReceiver(kind, j.config())
	if err != nil {
		return 0, err
	}
	f := newFlow(j.Seed, 0, 0)
	if _, err = link.Attach(ctx, j.Name, r); err == nil {
		err = f.receive(ctx, r, 1, func(time.Duration) error { return nil })
	}
	if err == nil {
		err = f.over(ctx, r)
	}
	return f.came(), errors.Join(err, r.Close())
}

// usage is what a process could leak.
type usage struct{ Files, Mappings, Goroutines int }

func inUse() usage {
	// What cannot be read is nothing, which a test that looks for leaks would see.
	files, _ := os.ReadDir("/proc/self/fd")
	text, _ := os.ReadFile("/proc/self/maps")
	return usage{len(files), strings.Count(string(text), "memfd:"), runtime.NumGoroutine()}
}

func (h usage) within(most usage) bool {
	return h.Files <= most.Files && h.Mappings <= most.Mappings && h.Goroutines <= most.Goroutines
}

func (h usage) most(x usage) usage {
	return usage{max(h.Files, x.Files), max(h.Mappings, x.Mappings), max(h.Goroutines, x.Goroutines)}
}

// settled is what is held when all has ended that is about to.
func settled(before usage) (h usage) {
	for start := time.Now(); time.Since(start) < 5*time.Second; runtime.Gosched() {
		if h = inUse(); h.within(before) {
			break
		}
	}
	return h
}

// far is a far side.
type far struct {
	cmd  *exec.Cmd
	in   *gob.Encoder
	out  *gob.Decoder
	w    io.Closer
	link *Link
}

// newFar starts one.
func newFar(t *testing.T) *far {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	l := localListener(t)
	defer l.Close()
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), farVariable+"="+l.Addr().String())
	cmd.Stderr = os.Stderr
	w, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	must(t, cmd.Start())
	must(t, l.(*net.UnixListener).SetDeadline(time.Now().Add(2*patience)))
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	f := &far{cmd: cmd, in: gob.NewEncoder(w), out: gob.NewDecoder(r), w: w}
	if f.link, err = NewLink(t.Context(), conn, false, LinkConfig{}); err != nil {
		t.Fatal(err)
	}
	return f
}

// kill ends the process at once.
func (f *far) kill() { _ = f.cmd.Process.Kill() }

// end ends the process, and forgets it.
func (f *far) end() error {
	_ = f.w.Close()
	err := f.cmd.Wait()
	return errors.Join(err, f.link.Close())
}
