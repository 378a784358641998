package umad

import (
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"heddle/ib"
	"heddle/mad"
)

// Send writes m to the kernel. On Ethernet it waits for the kernel to find the
// hardware address of a GID, a second or two where nobody has it.
func (d *linuxDevice) Send(m *Message, timeout time.Duration) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.named(d.send(m, timeout))
}

func (d *linuxDevice) send(m *Message, timeout time.Duration) error {
	switch {
	case d.closed:
		return net.ErrClosed
	case len(m.Data) < vendorHeaderLen:
		return fmt.Errorf("datagram of %d bytes: %w", len(m.Data), mad.ErrShort)
	case m.GRH == nil && !d.port.IsInfiniBand():
		return fmt.Errorf("a port of Ethernet is addressed by GID: %w", ErrNotInfiniBand)
	}
	key := keyOf(m.Data)
	agents := d.agents[key]
	if agents == nil {
		return fmt.Errorf("class %v is not registered", key.class)
	}
	id := agents.sender(mad.Method(m.Data[3]))
	d.out = frame{agent: id, timeout: milliseconds(timeout), addr: m.Address}.appendTo(d.out[:0])
	d.out = append(d.out, m.Data...)
	if len(m.Data) > mad.Size {
		d.out[frameLen+rmppFlagsByte] |= rmppActive
	}
	if _, err := d.file.Write(d.out); err != nil {
		return sendError(m, err)
	}
	return nil
}

// sendError says what an error number of a write means.
func sendError(m *Message, err error) error {
	switch {
	case m.GRH != nil && (errors.Is(err, unix.ETIMEDOUT) || errors.Is(err, unix.EHOSTUNREACH) || errors.Is(err, unix.ENETUNREACH)):
		return fmt.Errorf("no way to GID %v: %w", m.GRH.GID, err)
	case errors.Is(err, unix.EINVAL):
		return fmt.Errorf("address refused, or the transaction ID is in use: %w", err)
	default:
		return err
	}
}

// Receive reads the next message. Of a request that was not answered in time
// the kernel gives the header only: the rest of Data is zero.
func (d *linuxDevice) Receive(m *Message) error {
	for {
		n, err := d.read()
		if errors.Is(err, os.ErrClosed) {
			return net.ErrClosed
		}
		if err != nil {
			return d.named(err)
		}
		if m.fromKernel(d.in[:n]) == nil {
			return nil
		}
	}
}

// read reads into d.in and grows it to the message that comes next, which the
// kernel keeps until it fits.
func (d *linuxDevice) read() (int, error) {
	for {
		n, err := d.file.Read(d.in)
		if !errors.Is(err, unix.ENOSPC) {
			return n, err
		}
		head, parseErr := parseFrame(d.in)
		if parseErr != nil || int64(head.length) <= int64(len(d.in)) {
			return 0, errors.Join(err, parseErr)
		}
		d.in = make([]byte, head.length)
	}
}

// fromKernel makes m of what was read.
func (m *Message) fromKernel(b []byte) error {
	head, err := parseFrame(b)
	if err != nil {
		return err
	}
	data := b[frameLen:]
	if len(data) < madHeaderLen {
		return fmt.Errorf("datagram of %d bytes: %w", len(data), mad.ErrShort)
	}
	m.Address, m.Err = head.addr, nil
	m.Data = append(m.Data[:0], data...)
	if m.QKey == 0 && !mad.Class(data[1]).IsSMP() {
		m.QKey = ib.GSIQKey
	}
	if head.status != 0 {
		m.Err = statusError(head.status)
		m.Data = append(m.Data, make([]byte, max(0, mad.Size-len(m.Data)))...)
	}
	return nil
}

// statusError is what became of a request.
func statusError(status uint32) error {
	errno := unix.Errno(status)
	if errno == unix.ETIMEDOUT {
		return ErrTimeout
	}
	return fmt.Errorf("not sent: %w", errno)
}
