package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"heddle/internal/console"
	"heddle/sm"
)

// smProgram is the console of heddle sm.
func smProgram() console.Program {
	return console.Program{Name: "heddle sm", Short: "sm", Flag: "--ctl"}
}

// runManager runs a manager and what tells of it, until the context ends.
func (a *app) runManager(ctx context.Context, s *smSetup, m *sm.Manager) (err error) {
	f := s.flags
	ctx, cancel := context.WithCancel(ctx)
	var servers []io.Closer
	defer func() {
		cancel() // commands that wait for the manager end
		for _, server := range servers {
			err = errors.Join(err, server.Close())
		}
	}()
	listener, err := smProgram().Listen(cmp.Or(f.ctl, smProgram().Path(f.port.spec)))
	if err != nil {
		return err
	}
	servers = append(servers, console.Serve(listener, smConsole{ctx, m, s.dump}.answer))
	if f.metrics != "" {
		web, err := serveMetrics(f.metrics, m.Status)
		if err != nil {
			return err
		}
		servers = append(servers, web)
	}
	does := map[os.Signal]func(){syscall.SIGHUP: func() { s.reload(m) }}
	for _, signal := range userSignals() {
		does[signal] = func() { s.user(ctx, m) }
	}
	stop := onSignals(does)
	defer stop()
	s.notify("READY=1")
	defer s.notify("STOPPING=1")
	return m.Run(ctx)
}

// onSignals has signals followed by what each stands for, one after the other,
// until it is stopped.
func onSignals(does map[os.Signal]func()) (stop func()) {
	signals := make(chan os.Signal, 4)
	for s := range does {
		signal.Notify(signals, s)
	}
	var wait sync.WaitGroup
	wait.Go(func() {
		for s := range signals {
			does[s]()
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		wait.Wait()
	}
}

// serveMetrics serves Prometheus at an address.
func serveMetrics(addr string, status func() sm.Status) (io.Closer, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metricsHandler(status))
	server := &metricsServer{http: http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: time.Minute}}
	server.wait.Go(func() { server.err = server.http.Serve(listener) })
	return server, nil
}

// metricsServer is an HTTP server whose Close waits.
type metricsServer struct {
	http http.Server
	wait sync.WaitGroup
	err  error // of Serve, after wait
}

func (s *metricsServer) Close() error {
	err := s.http.Close()
	s.wait.Wait()
	if !errors.Is(s.err, http.ErrServerClosed) {
		err = errors.Join(err, s.err)
	}
	return err
}
