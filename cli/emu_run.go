package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"heddle/cli/text"
	"heddle/emu"
	"heddle/internal/console"
	"heddle/internal/peer"
)

// emulator is a subnet and what serves it.
type emulator struct {
	live    *emu.Live
	servers []io.Closer
}

// emulate runs a subnet until the program is told to end.
func (a *app) emulate(s source, f emuFlags) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	e, err := startEmulator(s, f)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s is ready: %s, %s, %s; attach with %s\n", s.name, text.Thousands(len(s.Switches()))+" switches",
		text.Count(len(s.Adapters()), "adapter"), text.Count(s.NumLinks(), "link"), attachWith(f))
	if err != nil {
		return errors.Join(err, e.close())
	}
	<-ctx.Done()
	stop() // a second signal ends it at once
	status, err := e.status()
	if err := errors.Join(err, e.close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s ended after %v: %s\n", s.name, status.Time.Round(time.Millisecond), statsLine(status.Stats))
	return err
}

func startEmulator(s source, f emuFlags) (*emulator, error) {
	live, err := emu.Start(s.Fabric, f.cfg)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	e := &emulator{live: live}
	for _, serve := range []func(emuFlags) error{e.serveUnix, e.serveUDP, e.serveCtl} {
		if err := serve(f); err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

func (e *emulator) serveUnix(f emuFlags) error {
	server, err := e.live.Serve(f.name, f.serve)
	return e.add(server, taken(err, fmt.Sprintf("the name %q is taken, by another heddle emu or an ibsim; --name gives another", f.name)))
}

func (e *emulator) serveUDP(f emuFlags) error {
	if f.udp == "" {
		return nil
	}
	addr, err := net.ResolveUDPAddr("udp4", f.udp)
	if err != nil {
		return &usageError{fmt.Errorf("--udp %s: %w", f.udp, err)}
	}
	server, err := e.live.ServeUDP(addr, f.serve)
	return e.add(server, taken(err, fmt.Sprintf("the UDP address %s is taken", f.udp)))
}

func (e *emulator) serveCtl(f emuFlags) error {
	listener, err := emuConsole().Listen(f.ctl)
	if err != nil {
		return err
	}
	return e.add(e.live.ServeConsole(listener), nil)
}

// add has a server closed with the emulator.
func (e *emulator) add(server io.Closer, err error) error {
	if err == nil {
		e.servers = append(e.servers, server)
	}
	return err
}

// taken says what the error of an address means that somebody has.
func taken(err error, what string) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s: %w", what, reason(err))
	}
	return err
}

// reason is what an error of net says without the address.
func reason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// close ends the servers, the last first, and then the subnet.
func (e *emulator) close() error {
	var errs []error
	for _, server := range slices.Backward(e.servers) {
		errs = append(errs, server.Close())
	}
	return errors.Join(append(errs, e.live.Close())...)
}

func (e *emulator) status() (status emu.Status, err error) {
	err = e.live.Do(func(s *emu.Subnet) error {
		status = s.Status()
		return nil
	})
	return status, err
}

// attachWith is what the environment of clients needs.
func attachWith(f emuFlags) string {
	env := "IBSIM_SOCKNAME=" + console.Quote(f.name) + " LD_PRELOAD=" + preloadLibrary()
	if host, port, err := net.SplitHostPort(f.udp); err == nil {
		env += fmt.Sprintf(", or by UDP IBSIM_SERVER_NAME=%s IBSIM_SERVER_PORT=%s", host, port)
	}
	return env
}

// preloadLibrary is where ibsim's preload library lies, or only its name.
func preloadLibrary() string {
	path, err := peer.FindPreload()
	if err != nil {
		return "libumad2sim.so"
	}
	return path
}

func statsLine(n emu.Stats) string {
	count := func(n uint64) string { return text.Thousands(int(n)) }
	return fmt.Sprintf("%s packets sent, %s delivered, %s lost; %s SMPs answered, %s traps sent",
		count(n.Sent), count(n.Delivered), count(n.Lost), count(n.SMPs), count(n.Traps))
}
