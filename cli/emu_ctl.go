package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"heddle/emu"

	"github.com/spf13/cobra"
)

func (a *app) ctlCommand() *cobra.Command {
	var name, socket string
	var wait time.Duration
	cmd := &cobra.Command{
		Use: "ctl COMMAND...", Short: "Command a running heddle emu",
		Long: "Command a running heddle emu: cut links, kill nodes, lose datagrams, ask how it is.\n\n" + emu.ConsoleHelp(),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return usagef("%s: a COMMAND is needed; see %[1]s --help", cmd.CommandPath())
			case name != "" && socket != "":
				return usagef("--name and --socket cannot both be given")
			}
			return a.ctl(cmp.Or(socket, ctlPath(emuName(name))), wait, args)
		},
	}
	cmd.Flags().SetInterspersed(false) // what follows the first word is the console's
	cmd.Flags().StringVar(&name, "name", "", nameUsage)
	cmd.Flags().StringVar(&socket, "socket", "", "`PATH` of its control socket, instead of one that is made of the name")
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait so long for an emulator that is starting")
	return cmd
}

// ctlPath is the control socket of an emulator by its name. Users have their
// own, also where they share a directory.
func ctlPath(name string) string {
	dir := cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
	return filepath.Join(dir, fmt.Sprintf("heddle-emu-%d-%s.ctl", os.Getuid(), url.PathEscape(name)))
}

// ctlPatience is how long a command may take.
const ctlPatience = time.Minute

func (a *app) ctl(path string, wait time.Duration, words []string) error {
	conn, err := dialCtl(path, wait)
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // all is answered
	if err := conn.SetDeadline(time.Now().Add(ctlPatience)); err != nil {
		return err
	}
	answer, err := emu.AskConsole(conn, words...)
	if err != nil {
		return err
	}
	_, err = io.WriteString(a.out, answer)
	return err
}

// dialCtl connects to a control socket, which may take a while to be there.
func dialCtl(path string, wait time.Duration) (net.Conn, error) {
	const again = 20 * time.Millisecond
	for end := time.Now().Add(wait); ; time.Sleep(again) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn, nil
		}
		if !time.Now().Before(end) {
			return nil, fmt.Errorf("no heddle emu is at %s: %w", path, reason(err))
		}
	}
}

// reason is what an error of net says without the address.
func reason(err error) error {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Err
	}
	return err
}

// longestCtl is the longest path of a unix socket that all systems take.
const longestCtl = 103

// listenCtl listens at a control socket that only the user may connect to. It
// takes the place of one that an emulator left behind when it died.
func listenCtl(path string) (net.Listener, error) {
	if len(path) > longestCtl {
		return nil, fmt.Errorf("control socket %s: a path of %d bytes, want at most %d; --ctl gives another", path, len(path), longestCtl)
	}
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := removeDead(path); err != nil {
			return nil, fmt.Errorf("control socket %s: %w", path, err)
		}
		listener, err = net.Listen("unix", path)
	}
	if err != nil {
		return nil, fmt.Errorf("control socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("control socket: %w", err), listener.Close())
	}
	return listener, nil
}

// removeDead removes a socket that nobody listens at.
func removeDead(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return errors.New("the file is no socket; --ctl gives another")
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close() //nolint:errcheck // nothing was sent
		return errors.New("another heddle emu has it; --ctl gives another")
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
