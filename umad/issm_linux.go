package umad

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// SetIsSM holds the port's issm file open, as one process only can, or closes
// it. The kernel clears the bit when the process dies.
func (d *linuxDevice) SetIsSM(on bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return net.ErrClosed
	case !on:
		return d.named(d.clearIsSM())
	case d.issm != nil:
		return nil
	}
	f, err := openIsSM(d.dev, d.port)
	d.issm = f
	return d.named(err)
}

func (d *linuxDevice) clearIsSM() error {
	if d.issm == nil {
		return nil
	}
	err := d.issm.Close()
	d.issm = nil
	return err
}

// openIsSM opens the file that stands for the IsSM bit of a port.
func openIsSM(dev string, p LinuxPort) (*os.File, error) {
	switch {
	case !p.IsInfiniBand():
		return nil, fmt.Errorf("%w (link layer %s)", ErrNotInfiniBand, p.LinkLayer)
	case p.IsSM == "":
		return nil, fmt.Errorf("the port has no issm device: %w", ErrNoDevice)
	}
	path := filepath.Join(dev, p.IsSM)
	f, err := openFile(path)
	switch {
	case err == nil:
		return f, nil
	case errors.Is(err, unix.EAGAIN):
		return nil, fmt.Errorf("another subnet manager holds %s: %w", path, ErrBusy)
	default:
		return nil, withAdvice(err)
	}
}
