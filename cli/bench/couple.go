package bench

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"heddle/cli/perf"
	"heddle/internal/peer"
	"heddle/verbs"
)

// VerbsDevice is a device that is measured.
type VerbsDevice struct {
	verbs.Device
	Provider string
	// Alone has both ends in this process: no other one can reach the device.
	Alone bool
}

func (d *VerbsDevice) name() string { return d.Provider + "/" + d.Name() }

// couple is two ends of a device, this one and another one, which is a process of
// its own where it can be.
type couple struct {
	device VerbsDevice
	dir    string // of what the programs leave behind
	end    *perf.End
	link   *perf.Link
	stop   func() // ends the other end
}

// newCouple starts the other end, by a program that is heddle itself.
func newCouple(ctx context.Context, program string, d VerbsDevice) (p *couple, err error) {
	p = &couple{device: d, stop: func() {}}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.close())
		}
	}()
	if p.dir, err = os.MkdirTemp("", "heddle-bench-"); err != nil {
		return p, err
	}
	if p.end, err = perf.Open(d, d.name()); err != nil {
		return p, err
	}
	if d.Alone {
		err = p.startHere(ctx)
	} else {
		err = p.start(ctx, program)
	}
	return p, err
}

func (p *couple) close() (err error) {
	p.stop()
	if p.end != nil {
		err = p.end.Close()
	}
	os.RemoveAll(p.dir) //nolint:errcheck // what stays is in the system's directory for that
	return err
}

// start starts the other end and joins both.
func (p *couple) start(ctx context.Context, program string) error {
	path := filepath.Join(p.dir, "end")
	cmd := exec.Command(program, "verbs", "pingpong",
		"--provider", p.device.Provider, "--device", p.device.Name(), "--listen", "unix:"+path)
	cmd.Dir = p.dir
	other, err := peer.StartLogger(cmd)
	if err != nil {
		return err
	}
	p.stop = other.Stop
	conn, err := dial(ctx, other, path)
	if err != nil {
		return err
	}
	p.link = perf.NewLink(ctx, conn)
	p.stop = func() {
		p.link.Close() //nolint:errcheck // all is said
		other.Stop()
	}
	return nil
}

// dial comes to the other end when it listens.
func dial(ctx context.Context, p *peer.Process, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if _, err := p.Wait(ctx, "listening"); err != nil {
		return nil, err
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", path)
}

// startHere has the other end in this process.
func (p *couple) startHere(ctx context.Context) error {
	other, err := perf.Open(p.device, p.device.name())
	if err != nil {
		return err
	}
	here, there := net.Pipe()
	p.link = perf.NewLink(ctx, here)
	served, done := perf.NewLink(ctx, there), make(chan struct{})
	go func() {
		defer close(done)
		served.Serve(other, func(perf.Result) {}) //nolint:errcheck // the other end is told
	}()
	p.stop = func() {
		p.link.Close() //nolint:errcheck // all is said
		<-done
		served.Close() //nolint:errcheck // as above
		other.Close()  //nolint:errcheck // as above
	}
	return nil
}
