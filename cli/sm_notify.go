package cli

import (
	"net"
	"os"
)

// notify tells systemd how the program is, where it started that with
// Type=notify.
func (s *smSetup) notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if name == "" {
		return
	}
	if err := sendTo(name, state); err != nil {
		s.log.Warn("systemd not told", "error", err)
	}
}

// sendTo sends a datagram to a socket; a name that begins with @ is abstract.
func sendTo(name, text string) error {
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return err
	}
	if _, err = c.Write([]byte(text)); err != nil {
		c.Close() //nolint:errcheck // the first error counts
		return err
	}
	return c.Close()
}
