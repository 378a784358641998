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

	"github.com/spf13/cobra"
)

// smProgram is the console of heddle sm.
func smProgram() console.Program {
	return console.Program{Name: "heddle sm", Short: "sm", Flag: "--ctl"}
}

// runManager runs a manager and what tells of it, until the context ends.
func (a *app) runManager(ctx context.Context, f smFlags, m *sm.Manager) (err error) {
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
	servers = append(servers, console.Serve(listener, smConsole{ctx, m}.answer))
	if f.metrics != "" {
		web, err := serveMetrics(f.metrics, m)
		if err != nil {
			return err
		}
		servers = append(servers, web)
	}
	stop := hangUps(m)
	defer stop()
	return m.Run(ctx)
}

// hangUps has each SIGHUP followed by a sweep, until it is stopped.
func hangUps(m *sm.Manager) (stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	var wait sync.WaitGroup
	wait.Go(func() {
		for range signals {
			m.Resweep("SIGHUP")
		}
	})
	return func() {
		signal.Stop(signals)
		close(signals)
		wait.Wait()
	}
}

// serveMetrics serves Prometheus at an address.
func serveMetrics(addr string, m *sm.Manager) (io.Closer, error) {
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics: %w", err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", metricsHandler(m))
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

// smOrderCommands are the subcommands that command a heddle sm that runs.
func (a *app) smOrderCommands() []*cobra.Command {
	var asJSON bool
	status := a.smOrderCommand("status", "Tell how a running heddle sm and its subnet are", func([]string) []string {
		if asJSON {
			return []string{"status", "json"}
		}
		return []string{"status"}
	})
	status.Flags().BoolVar(&asJSON, "json", false, "write one JSON object")
	plain := func(name string) func([]string) []string {
		return func(args []string) []string { return append([]string{name}, args...) }
	}
	groups := a.smOrderCommand("groups", "List its multicast groups, or one with its members", plain("groups"))
	groups.Use, groups.Args = "groups [MGID]", cobra.MaximumNArgs(1)
	return []*cobra.Command{
		status,
		a.smOrderCommand("resweep", "Have it look at the whole subnet again", plain("resweep")),
		a.smOrderCommand("reroute", "Have it lay the trees of all groups anew", plain("reroute")),
		groups,
	}
}

func (a *app) smOrderCommand(name, short string, words func(args []string) []string) *cobra.Command {
	var port, socket string
	var wait time.Duration
	cmd := &cobra.Command{
		Use: name, Short: short,
		Long: short + ", through its control socket. Which one that is,\n" +
			"--port tells, with the same text that heddle sm was started with, or --ctl.",
		Args: cobra.NoArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.ctl(smProgram(), cmp.Or(socket, smProgram().Path(port)), wait, words(args))
		},
	}
	cmd.Flags().StringVar(&port, "port", "umad:", "port that heddle sm was started with")
	cmd.Flags().StringVar(&socket, "ctl", "", ctlUsage)
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for a heddle sm that is starting")
	return cmd
}

const ctlUsage = "`PATH` of the control socket, instead of one that is made of the port"
