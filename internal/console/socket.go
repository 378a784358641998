package console

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// Program is whose console it is, for messages and for the names of sockets.
type Program struct {
	// Name is that of the command, such as "heddle emu"; Short is the part of
	// it in names of sockets. Flag is the one that gives another path.
	Name, Short, Flag string
}

// Path is the control socket of an instance of the program. Users have their
// own, also where they share a directory. A name that would be too long for a
// socket is made of the instance's digest.
func (p Program) Path(instance string) string {
	dir := cmp.Or(os.Getenv("XDG_RUNTIME_DIR"), os.TempDir())
	named := func(name string) string {
		return filepath.Join(dir, fmt.Sprintf("heddle-%s-%d-%s.ctl", p.Short, os.Getuid(), name))
	}
	path := named(url.PathEscape(instance))
	if len(path) <= longest {
		return path
	}
	digest := sha256.Sum256([]byte(instance))
	return named(hex.EncodeToString(digest[:8]))
}

// Dial connects to a control socket, which may take a while to be there.
func (p Program) Dial(path string, wait time.Duration) (net.Conn, error) {
	const again = 20 * time.Millisecond
	for end := time.Now().Add(wait); ; time.Sleep(again) {
		conn, err := net.Dial("unix", path)
		if err == nil {
			return conn, nil
		}
		if !time.Now().Before(end) {
			return nil, fmt.Errorf("no %s is at %s: %w", p.Name, path, reason(err))
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

// longest is the longest path of a unix socket that all systems take.
const longest = 103

// Listen listens at a control socket that only the user may connect to. It
// takes the place of one that a program left behind when it died.
func (p Program) Listen(path string) (net.Listener, error) {
	if len(path) > longest {
		return nil, fmt.Errorf("control socket %s: a path of %d bytes, want at most %d; %s gives another", path, len(path), longest, p.Flag)
	}
	listener, err := net.Listen("unix", path)
	if errors.Is(err, syscall.EADDRINUSE) {
		if err := p.removeDead(path); err != nil {
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
func (p Program) removeDead(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSocket == 0 {
		return fmt.Errorf("the file is no socket; %s gives another", p.Flag)
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		conn.Close() //nolint:errcheck // nothing was sent
		return fmt.Errorf("another %s has it; %s gives another", p.Name, p.Flag)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return err
	}
	return os.Remove(path)
}
