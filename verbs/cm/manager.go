package cm

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"heddle/verbs"
)

// Manager makes connections on the devices of a provider, each of which it opens
// once, when it is first needed. All methods may be called by any goroutine.
type Manager struct {
	// KeepAlive is after how long without anything a connection asks for a sign that
	// the peer's host is alive; 3 s by default. It is set before the first use.
	KeepAlive time.Duration

	provider verbs.Provider

	mu     sync.Mutex
	opened map[string]verbs.Context // by name; guarded by mu
	closed bool                     // guarded by mu
}

// NewManager makes one. The provider has to have the kernel's devices, as
// *ibv.Provider has.
func NewManager(p verbs.Provider) *Manager {
	return &Manager{provider: p, opened: make(map[string]verbs.Context)}
}

// Device gives an opened device by its name, the same one each time. It stays the
// manager's, which closes it.
func (m *Manager) Device(name string) (verbs.Context, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, verbs.ErrClosed
	}
	if dev, ok := m.opened[name]; ok {
		return dev, nil
	}
	list, err := m.provider.Devices()
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if d.Name() != name {
			continue
		}
		dev, err := d.Open()
		if err == nil {
			m.opened[name] = dev
		}
		return dev, err
	}
	return nil, fmt.Errorf("provider %s has no device %s: %w", m.provider.Name(), name, verbs.ErrNoDevice)
}

// Close closes the devices. What was made on them has to be closed before, the
// connections too: else the error wraps verbs.ErrBusy.
func (m *Manager) Close() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	for name, dev := range m.opened {
		if e := dev.Close(); e != nil {
			err = errors.Join(err, e)
			continue
		}
		delete(m.opened, name)
	}
	return err
}

// Resolve finds out by which device, port and GID packets get to "host:port", and
// opens that device. Of an address of this machine it is the device that has it.
// Nothing is sent to the port.
//
// The error wraps ErrUnreachable where no device leads there, verbs.ErrNoDevice
// where there is no connection manager, or is that of the context. It names the
// address, as a *net.OpError.
func (m *Manager) Resolve(ctx context.Context, address string) (verbs.Context, verbs.Path, error) {
	type found struct {
		dev  verbs.Context
		path verbs.Path
	}
	f, err := first(ctx, address, func(a netip.AddrPort, zone uint32) (f found, err error) {
		i, err := newID()
		if err != nil {
			return f, err
		}
		if err = i.resolve(ctx, a, zone); err == nil {
			f.dev, f.path, err = m.path(i)
		}
		return f, errors.Join(failed("resolve", a, err), i.close())
	})
	return f.dev, f.path, failedAt("resolve", address, err)
}

// path is the device that an ID belongs to, and where packets leave by.
func (m *Manager) path(i *id) (verbs.Context, verbs.Path, error) {
	w, gid, sl, err := i.source()
	if err != nil {
		return nil, verbs.Path{}, err
	}
	name, err := deviceOf(os.DirFS(devices), w.guid, w.port, gid)
	if err != nil {
		return nil, verbs.Path{}, err
	}
	dev, err := m.Device(name)
	return dev, verbs.Path{Device: name, Port: w.port, GID: gid, PKey: w.pkey, SL: sl}, err
}

// failed names the address that something failed with.
func failed(op string, a netip.AddrPort, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: Network, Addr: Addr(a), Err: err}
}

// failedAt does so where no address was found.
func failedAt(op, address string, err error) error {
	if _, ok := errors.AsType[*net.OpError](err); ok || err == nil {
		return err
	}
	return fmt.Errorf("%s %s %s: %w", op, Network, address, err)
}
