package bench

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"

	"heddle/cli/perf"
	"heddle/internal/peer"
)

// start starts the other end and joins both; stop ends it.
func (s *verbsStage) start(ctx context.Context) (stop func(), err error) {
	if s.device.Alone {
		return s.startHere(ctx)
	}
	path := filepath.Join(s.dir, "end")
	cmd := exec.Command(s.Program, "verbs", "pingpong",
		"--provider", s.device.Provider, "--device", s.device.Name(), "--listen", "unix:"+path)
	cmd.Dir = s.dir
	p, err := peer.StartLogger(cmd)
	if err != nil {
		return nil, err
	}
	conn, err := dial(ctx, p, path)
	if err != nil {
		p.Stop()
		return nil, err
	}
	s.link = perf.NewLink(ctx, conn)
	return func() {
		s.link.Close() //nolint:errcheck // all is said
		p.Stop()
	}, nil
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
func (s *verbsStage) startHere(ctx context.Context) (stop func(), err error) {
	other, err := perf.Open(s.device, s.device.name())
	if err != nil {
		return nil, err
	}
	here, there := net.Pipe()
	s.link = perf.NewLink(ctx, here)
	served, done := perf.NewLink(ctx, there), make(chan struct{})
	go func() {
		defer close(done)
		served.Serve(other, func(perf.Result) {}) //nolint:errcheck // the other end is told
	}()
	return func() {
		s.link.Close() //nolint:errcheck // all is said
		<-done
		served.Close() //nolint:errcheck // as above
		other.Close()  //nolint:errcheck // as above
	}, nil
}
