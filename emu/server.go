package emu

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"heddle/ibsim"
)

// ServeConfig is how a Server serves. The zero ServeConfig is a good one.
type ServeConfig struct {
	// Timeout and Retries are what the server does for clients that cannot:
	// ibsim's preload library waits for ever. A request without an answer is
	// sent again after Timeout, so many times as Retries, and then comes back
	// as timed out. Zero means 200 ms and 3 retries, as OpenSM wants it: in all
	// less than the second that infiniband-diags wait, some of which hang where
	// both times are over at once. -1 is no retries.
	Timeout time.Duration
	Retries int
	// Probe is how often the server looks whether clients are still there;
	// zero means every second.
	Probe time.Duration
	// Log gets what happens to clients; nil is silence.
	Log *slog.Logger
}

func (c ServeConfig) filled() ServeConfig {
	c.Timeout = fill(c.Timeout, 200*time.Millisecond)
	c.Retries = max(fill(c.Retries, 3), 0)
	c.Probe = fill(c.Probe, time.Second)
	c.Log = fill(c.Log, slog.New(slog.DiscardHandler))
	return c
}

// Server speaks ibsim's socket protocol to any number of clients.
type Server struct {
	live    *Live
	cfg     ServeConfig
	sockets sockets
	control socket
	answers *ibsim.Sender // on control
	done    chan struct{}
	wait    sync.WaitGroup

	lost chan *session // whose clients are gone

	mu       sync.Mutex
	sessions map[string]*session // by their owner; guarded by mu
	closed   bool                // guarded by mu
}

// Serve opens the subnet to clients on abstract unix sockets, whose names start
// with a base: what the clients' IBSIM_SOCKNAME says. It fails where another
// server has the name.
func (l *Live) Serve(base string, cfg ServeConfig) (*Server, error) {
	names := ibsim.Names(base)
	if err := names.Check(); err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	return l.serve(unixSockets{names}, cfg)
}

// ServeUDP opens the subnet to clients by UDP, as ibsim does in remote mode:
// the address's port is that of the control messages, and the ports after it
// are those of the clients.
func (l *Live) ServeUDP(addr *net.UDPAddr, cfg ServeConfig) (*Server, error) {
	return l.serve(udpSockets{addr}, cfg)
}

func (l *Live) serve(names sockets, cfg ServeConfig) (*Server, error) {
	control, err := names.control()
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", names, err)
	}
	answers, err := ibsim.NewSender(control)
	if err != nil {
		control.Close() //nolint:errcheck // the error of interest is the first
		return nil, fmt.Errorf("serve %s: %w", names, err)
	}
	s := &Server{
		live: l, cfg: cfg.filled(), sockets: names, control: control, answers: answers,
		done: make(chan struct{}), lost: make(chan *session, 16), sessions: map[string]*session{},
	}
	s.wait.Go(s.answerControl)
	s.wait.Go(s.probe)
	return s, nil
}

// Close ends the server and detaches its clients.
func (s *Server) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	close(s.done)
	err := s.control.Close()
	for _, x := range s.all() {
		s.end(x, "the server ends")
	}
	s.wait.Wait()
	return err
}

// Clients is the number of clients that are attached.
func (s *Server) Clients() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.sessions)
}

func (s *Server) all() []*session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []*session
	for _, x := range s.sessions {
		list = append(list, x)
	}
	return list
}

// answerControl answers control messages until the socket is closed. What is
// no message is passed over.
func (s *Server) answerControl() {
	buf, out := make([]byte, ibsim.ControlSize+1), make([]byte, 0, ibsim.ControlSize)
	for {
		n, from, err := s.control.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // such as the end of a client that has gone before its answer
		}
		request, err := ibsim.ParseControl(buf[:n])
		if err != nil {
			s.cfg.Log.Debug("control message passed over", "from", from, "error", err)
			continue
		}
		if unix, ok := from.(*net.UnixAddr); ok {
			from = ibsim.Source(unix)
		}
		if from == nil {
			continue // an unnamed socket cannot be answered
		}
		answer := s.respond(request, from)
		if err := s.answers.SendTo(answer.AppendTo(out), from); err != nil { // it does not read, or is gone
			s.cfg.Log.Debug("control message not answered", "to", from, "error", err)
		}
	}
}

// probe looks for clients that have gone without a word, until the server
// ends.
func (s *Server) probe() {
	tick := time.NewTicker(s.cfg.Probe)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case x := <-s.lost:
			s.end(x, "it is gone")
		case <-tick.C:
			s.reap()
		}
	}
}

func (s *Server) reap() {
	for _, x := range s.all() {
		if !s.sockets.alive(x.id) {
			s.end(x, "it is gone")
		}
	}
}

// lose has a client detached that is gone. It does not wait: where too many
// are lost at once, the next probe finds the rest.
func (s *Server) lose(x *session) {
	select {
	case s.lost <- x:
	default:
	}
}

// end detaches a client.
func (s *Server) end(x *session, why string) {
	s.mu.Lock()
	mine := s.sessions[x.owner] == x
	if mine {
		delete(s.sessions, x.owner)
	}
	s.mu.Unlock()
	if !mine {
		return
	}
	s.cfg.Log.Info("client detached", "client", x.client.ID(), "id", x.id, "node", x.node, "why", why)
	x.close()
}
